#!/usr/bin/env python3
"""How near targets/nvdla-large-like.toml is to NVDLA's own performance spreadsheet, layer by layer.

    bench/nvdla.py [--check]

Builds each layer of shared/data/nvdla_layers.csv (AlexNet, GoogLeNet, ResNet-50) as a net of one convolution and holds the
cycles of its MAC array against the spreadsheet's. Rows that the sheet adds up from several layers are left out, as they have no
shape of their own. Every row that differs is printed with the rule that makes it differ. --check fails where a row differs by no
known rule, or where the comments of the target file do not hold the table.

The sheet: nvdla/hw, perf/NVDLA_OpenSource_Performance.xlsx. It is a model of the best case, not silicon.
"""
import argparse
import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOOL = pathlib.Path(os.environ.get("LONGSHORE", ROOT / "build/release/longshore"))
TARGET = ROOT / "targets/nvdla-large-like.toml"
DATA = next((parent / "shared/data/nvdla_layers.csv" for parent in ROOT.parents if (parent / "shared/data/nvdla_layers.csv").exists()), None)
SHAPE = ("C", "H", "W", "K", "R", "S", "stride_h", "stride_v", "P", "Q")  # R and P are of the height


def built(shape, folder):
    """Cycles of the MAC array."""
    c, h, w, k, r, s, stride_w, stride_h, p, q = shape

    def pads(size, kernel, stride, out):
        whole = max((out - 1) * stride + kernel - size, 0)
        return whole // 2, whole - whole // 2

    (top, bottom), (left, right) = pads(h, r, stride_h, p), pads(w, s, stride_w, q)
    (folder / "layer.txt").write_text(
        f"layer (x: f32[1, {c}, {h}, {w}]) {{\n  y = Conv(x, f32[{k}, {c}, {r}, {s}]{{0.1}}, f32[{k}]{{0.5}}, "
        f"strides=[{stride_h}, {stride_w}], pads=[{top}, {left}, {bottom}, {right}])\n  return y\n}}\n")
    done = subprocess.run([TOOL, "build", folder / "layer.txt", "--target", TARGET, "--calibrate-limit", "1", "--calibrator",
                           "min_max", "--no-bias-correction", "--force", "Conv=npu", "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{shape}: exit code {done.returncode}: {done.stderr[-1000:]}")
    # The clock is 1 GHz, and the convolution is all that computes.
    return json.loads(done.stdout.strip().splitlines()[-1])["split_ms"]["compute"] * 1e6


def rules(row):
    """What the sheet counts in another way than the simulator."""
    found = []
    if int(row["stride_v"]) > 1 and int(row["C"]) < 16:
        found.append("folds the stride into the channels")
        if row["net"] == "AlexNet":
            found.append("leaves out the last window")
    if row["net"] == "ResNet50" and row["kind"] != "fc" and int(row["K"]) % 128:
        found.append("pads output channels to 128, as in this net alone")
    return found


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--check", action="store_true")
options = parser.parse_args()
if DATA is None:
    print("SKIP shared/data/nvdla_layers.csv is not beside this checkout")
    sys.exit(0)
with open(DATA) as file:
    rows = [row for row in csv.DictReader(file) if row["macs"] and row["nosram_mac_cycles"]]
cycles, lines, unknown, exact = {}, [], [], 0
with tempfile.TemporaryDirectory() as temporary:
    for row in rows:
        shape = tuple(int(row[key]) for key in SHAPE)
        if shape not in cycles:
            cycles[shape] = built(shape, pathlib.Path(temporary))
        mac, sheet = cycles[shape], float(row["nosram_mac_cycles"])
        if abs(mac - sheet) < 1e-6 * sheet:
            exact += 1
            continue
        name = row["layer"].split(" + ")[0].split(" ")[0]
        reasons = rules(row)
        line = f"{row['net']:9} {name:15} {mac:8.0f} cycles, sheet {sheet:8.0f}: {' and '.join(reasons)}"
        if not reasons:
            unknown.append(line)
        lines.append(line)
lines.insert(0, f"{exact} of {len(rows)} layers take the sheet's MAC cycles exactly; of the others the sheet")
print("\n".join(lines))
if options.check:
    table = "".join(f"#     {line}\n" for line in lines)
    if unknown:
        sys.exit("rows that no known rule explains:\n" + "\n".join(unknown))
    if table not in TARGET.read_text():
        sys.exit(f"the comments of {TARGET.relative_to(ROOT)} do not hold this table:\n{table}")
