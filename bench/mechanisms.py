#!/usr/bin/env python3
"""What each mechanism of planning gains: predicted time and DRAM traffic of nets without it, against the whole plan.

    bench/mechanisms.py [--target NAME] [MODEL [dim=N ...]] ...

Without models: the nets of bench/make_models.py, with random weights. Figures are the simulator's. A row for each net and
the geometric mean; the columns are factors: 1.30x means that the plan without it takes 1.3 times as long, or moves 1.3 times as much.
"""
import argparse
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOOL = pathlib.Path(os.environ.get("LONGSHORE", ROOT / "build/release/longshore"))
NETS = ["mobilenet_v2", "mobilenet_v3", "resnet50", "yolov5s", "vit_tiny", "bert_base_128"]
MECHANISMS = ["cascades", "fusion", "cores"]


def measure(model, dims, target, without):
    """Milliseconds and megabytes."""
    command = [TOOL, "build", model, "--target", target, "--calibrate-limit", "1", "--calibrator", "min_max", "--no-bias-correction",
               "--json", *(word for dim in dims for word in ("--dim", dim)), *(word for name in without for word in ("--without", name))]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{model}: exit code {done.returncode}: {done.stderr[-1000:]}")
    report = json.loads(done.stdout.splitlines()[-1])
    return report["latency_ms"], (report["dram_read_bytes"] + report["dram_write_bytes"]) / 1e6


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--target", default="rk3588-like")
parser.add_argument("models", nargs="*", metavar="MODEL or dim=N")
options = parser.parse_args()
with tempfile.TemporaryDirectory() as temporary:
    models = []
    for word in options.models:
        if pathlib.Path(word).exists():
            models.append((pathlib.Path(word), []))
        else:
            models[-1][1].append(word)
    if not models:
        subprocess.run([sys.executable, ROOT / "bench/make_models.py", temporary, *NETS], check=True, stdout=subprocess.DEVNULL)
        models = [(pathlib.Path(temporary) / f"{name}.onnx", []) for name in NETS]
    columns = [[name] for name in MECHANISMS] + [MECHANISMS]
    print(f"{options.target:<24}{'ms':>9}{'MB':>8}" + "".join(f"{'no ' + name:>18}" for name in [*MECHANISMS, "mechanism"]))
    logs = [[0.0, 0.0] for _ in columns]
    for model, dims in models:
        whole = measure(model, dims, options.target, [])
        line = f"{model.stem:<24}{whole[0]:>9.3f}{whole[1]:>8.1f}"
        for sums, without in zip(logs, columns):
            factors = [a / b for a, b in zip(measure(model, dims, options.target, without), whole)]
            for i, factor in enumerate(factors):
                sums[i] += math.log(factor) / len(models)
            line += f"{factors[0]:>9.2f}x{factors[1]:>7.2f}x"
        print(line, flush=True)
    print(f"{'geometric mean':<41}" + "".join(f"{math.exp(t):>9.2f}x{math.exp(m):>7.2f}x" for t, m in logs))
