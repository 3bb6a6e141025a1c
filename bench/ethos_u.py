#!/usr/bin/env python3
"""How near the Ethos-U targets are to what Vela 5.2 estimates for the same nets.

    bench/ethos_u.py [--check] [--layers] [--target NAME] [--system NAME]

Builds the float twins of four int8 TFLite models (plain ranges of one random sample) for the three targets, in each system
configuration of shared/data/vela_baseline.csv, and prints the cycles of the NPU's layers beside Vela's total, and per
layer the median of the ratios. Vela's figures are estimates of a compiler, not of silicon. --layers lists each layer that
is more than 25 % off. --check fails where the default system of a target is more than 20 % off in total or 25 % in the median,
or where the comments of the target file do not hold its rows.

Plans are without cascades and fusion, as Ethos-U writes each layer to memory. Vela compresses weights and we do not, so
constants are moved at the rate of their memory times Vela's compression of that net; `plain` is the total without that.
With Dedicated_Sram, Vela's input lies in the DRAM, of whose bursts of 128 bytes it uses 8; no plan of ours has it there.
`ratio` then leaves the first layer out on both sides. What makes codes of bytes before it (input_q) is no layer of the
TFLite model and never counted; Vela's 900 to 1,100 cycles of Softmax are in its total, and ours runs on the host.
"""
import argparse
import csv
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOOL = pathlib.Path(os.environ.get("LONGSHORE", ROOT / "build/release/longshore"))
DATA = next((parent / "shared/data" for parent in ROOT.parents if (parent / "shared/data/vela_baseline.csv").exists()), None)
BYTES = ["--input-type", "u8", "--input-layout", "nhwc", "--mean", "0", "--std", "1"]  # bytes as the TFLite models take them
NETS = {  # Vela's name: the twin, options
    "resnet8": ("resnet8_cifar10", BYTES),
    "kws_dscnn": ("dscnn_kws", []),
    "vww_mbv1": ("mobilenet_v1_025_vww", BYTES),
    "ad01": ("autoencoder_ad", []),
}
# Clock in MHz, bytes per cycle of the SRAM, GB/s of the memory for constants: ethos-u-vela, config_files/Arm/vela.ini.
# `internal-default` and Dedicated_Sram_256KB repeat others in the table.
SYSTEMS = {
    "Ethos_U55_Deep_Embedded": (200, 8, 0.1),
    "Ethos_U55_High_End_Embedded": (500, 8, 0.5),
    "Ethos_U65_Embedded": (500, 16, 0.5),
    "Ethos_U65_Mid_End": (500, 16, 3.75),
    "Ethos_U65_High_End": (1000, 16, 3.75),
    "Ethos_U65_Client_Server": (1000, 16, 12),
}
MODES = ("Sram_Only", "Shared_Sram", "Dedicated_Sram")
DEFAULTS = {"ethos-u55-128": ("Ethos_U55_High_End_Embedded", "Shared_Sram"),
            "ethos-u55-256": ("Ethos_U55_High_End_Embedded", "Shared_Sram"),
            "ethos-u65-512": ("Ethos_U65_High_End", "Dedicated_Sram")}


def target_text(accelerator, system, mode, compression):
    """A target file: that accelerator in that system; constants move by so many times the rate of their memory, or at once."""
    mhz, port, constants = SYSTEMS[system]
    rate = 1e5 if compression is None else 0 if mode == "Sram_Only" else constants * compression
    return (f'name = "{system}"\ndoc = "{mode}"\nlike = "{accelerator}-like"\n[npu.clock]\nmhz = {mhz}\n'
            f"[npu.dma]\nbytes_per_cycle = {port}\n[npu.dram]\ngb_per_s = {mhz * port / 1000}\nlatency_ns = {32e3 / mhz}\n"
            f"[npu.constants]\ngb_per_s = {rate}\n")


def build(folder, net, text):
    """The nodes of the NPU, each with its cycles."""
    model, options = NETS[net]
    target = folder / "target.toml"
    target.write_text(text)
    mhz = float(text.split("mhz = ")[1].split()[0])
    done = subprocess.run([TOOL, "build", DATA / f"models/{model}.onnx", "--target", target, "--calibrate-limit", "1",
                           "--calibrator", "min_max", "--no-bias-correction", "--without", "cascades", "--without", "fusion",
                           "--json", *options], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{net}: exit code {done.returncode}: {done.stderr[-1000:]}")
    nodes = json.loads(done.stdout.strip().splitlines()[-1])["nodes"]
    return [node | {"cycles": node["latency_ms"] * mhz * 1e3} for node in nodes
            if node["unit"] == "npu" and node["name"] != "input_q"]


def kind(op, macs):
    """What a layer is matched by: its sort, and its work where both count that alike."""
    if "Pool" in op:
        return "pool"
    return op if op == "Add" else macs


def pairs(nodes, layers):
    """Vela's layers with ours of the same kind, in order; what Vela makes of a Softmax, and what costs nothing, is left out."""
    left = [(kind(node["op"].removeprefix("Global").replace("AveragePool", "AvgPool"), node["macs"]), node) for node in nodes]
    found = []
    for layer in layers:
        if layer["tflite_op"] == "Softmax" or float(layer["op_cycles"]) == 0:
            continue
        wanted = kind(layer["npu_op"], int(float(layer["macs"])))
        match = next((at for at, (k, _) in enumerate(left) if k == wanted), None)
        if match is None:
            print(f"  no layer of ours for {layer['npu_op']} {layer['name']}")
            continue
        found.append((layer, left.pop(match)[1]))
    return found


def cause(layer, ours, without_constants):
    """Why a layer differs: by Vela's own columns, and by ours where constants take no time."""
    vela = float(layer["op_cycles"])
    cycles = {"compute": float(layer["npu_cycles"]), "SRAM": float(layer["sram_cycles"]),
              "DRAM": float(layer["dram_cycles"]), "flash": float(layer["off_flash_cycles"])}
    bound = max(cycles, key=cycles.get)
    if ours > vela:
        if without_constants / vela <= 1.25:
            return "ours waits for constants, which Vela loads in earlier layers or compresses better than the net's mean"
        return "ours is bound by its own compute and tiles"
    return {"compute": "Vela's blocks, whose sizes are not in its table: edges, the output of the last one", "SRAM": "Vela's short bursts of few channels",
            "DRAM": "Vela moves the input, or constants of later layers too, from the DRAM",
            "flash": "Vela moves constants of later layers too, or such that compress less than the net's mean"}[bound]


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--check", action="store_true", help="the default system of each target alone, with an exit code")
parser.add_argument("--layers", action="store_true", help="lists the layers that differ")
parser.add_argument("--target", help="one accelerator of the table, such as ethos-u55-256")
parser.add_argument("--system", help="one system configuration")
options = parser.parse_args()
if DATA is None:
    print("SKIP shared/data/vela_baseline.csv is not beside this checkout")
    sys.exit(0)
with open(DATA / "vela_layers.csv") as file:
    all_layers = list(csv.DictReader(file))
failures, rows = [], {}
print(f"{'target':13} {'system':27} {'mode':14} {'net':9} {'ours':>8} {'plain':>8} {'Vela':>8} ratio  median")
with tempfile.TemporaryDirectory() as temporary, open(DATA / "vela_baseline.csv") as file:
    for row in csv.DictReader(file):
        place = row["accelerator"], row["system_config"], row["memory_mode"]
        net = row["model"]
        default = DEFAULTS.get(place[0]) == place[1:]
        if (place[0] not in DEFAULTS or place[1] not in SYSTEMS or place[2] not in MODES or net not in NETS
                or (options.check and not default) or options.target not in (None, place[0])
                or options.system not in (None, place[1])):
            continue
        compression = float(row["weights_orig_bytes"]) / float(row["weights_encoded_bytes"])
        folder = pathlib.Path(temporary)
        nodes = build(folder, net, target_text(*place, compression))
        plain = sum(node["cycles"] for node in build(folder, net, target_text(*place, 1)))
        ours, total = sum(node["cycles"] for node in nodes), float(row["total_cycles"])
        matched = pairs(nodes, [layer for layer in all_layers if layer["model"] == net and
                                (layer["accelerator"], layer["system_config"], layer["memory_mode"]) == place])
        ratios = [node["cycles"] / float(layer["op_cycles"]) for layer, node in matched]
        median = statistics.median(ratios)
        (first, ours_first), apart = matched[0], place[2] == "Dedicated_Sram"
        ratio_of_totals = (ours - apart * ours_first["cycles"]) / (total - apart * float(first["op_cycles"]))
        print(f"{place[0]:13} {place[1]:27} {place[2]:14} {net:9} {ours:8.0f} {plain:8.0f} {total:8.0f} {ratio_of_totals:5.2f}  {median:5.2f}",
              flush=True)
        if default:
            rows.setdefault(place[0], []).append(f"#     {net:9} {ours:6.0f} cycles, Vela {total:6.0f}, ratio {ratio_of_totals:4.2f}, median layer {median:4.2f}\n")
        if default and abs(ratio_of_totals - 1) > 0.2:
            failures.append(f"{place[0]} {net}: {ratio_of_totals:.2f} of Vela's total")
        if default and abs(median - 1) > 0.25:
            failures.append(f"{place[0]} {net}: the median layer takes {median:.2f} of Vela's")
        if options.layers:
            at_once = {node["name"]: node["cycles"] for node in build(folder, net, target_text(*place, None))}
            for (layer, node), ratio in zip(matched, ratios):
                if abs(ratio - 1) > 0.25:
                    print(f"  {ratio:5.2f}  {node['name']:10} {node['cycles']:8.0f} Vela {float(layer['op_cycles']):8.0f}  "
                          f"{cause(layer, node['cycles'], at_once[node['name']])}")
for accelerator, lines in rows.items():
    file = ROOT / f"targets/{accelerator}-like.toml"
    if "".join(lines) not in file.read_text():
        failures.append(f"the comments of {file.relative_to(ROOT)} do not hold these rows:\n{''.join(lines)}")
if options.check and failures:
    sys.exit("\n".join(failures))
