#!/usr/bin/env python3
"""How near to float int8 models stay, beside what other quantisers reached on the same inputs.

    bench/quantisers.py DATA/quantisers.csv [--models NAME,...] [--limit N] [OPTIONS of eval ...]

DATA is a folder of trained float models, inputs and float outputs (shared/data, where a checkout lies beside it); quantisers.csv has a row for each
model and method. For each model: labels that agree with float's in per cent and the SQNR of the outputs, ours and the best row's (each measure's own
best, of rows measured on as many inputs), and our paired difference in top-1 with its 95 % interval. Further arguments go to `eval`: --no-equalise.
"""
import argparse
import csv
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOOL = pathlib.Path(os.environ.get("LONGSHORE", ROOT / "build/release/longshore"))


def inputs_of(model, data):
    """Options for the test inputs and for calibration; the float outputs of the enlarged pictures are of the first 1,000."""
    if model.startswith("dscnn_kws") or model == "autoencoder_ad":
        kind = "ad" if model == "autoencoder_ad" else "kws"
        return ["--data", f"f32:{data}/{kind}_test.f32", "--calibrate", f"f32:{data}/{kind}_calib.f32"]
    name = "cifar10x3" if model == "mobilenet_v1_025_vww" else "cifar10"
    first = ["--first", "1000"] if name == "cifar10x3" else []
    return ["--data", f"{name}:{data}/cifar10_test.bin", *first, "--calibrate", f"{name}:{data}/cifar10_calib.bin"]


def ours(model, data, options):
    done = subprocess.run([TOOL, "eval", data / f"models/{model}.onnx", *inputs_of(model, data), "--precision", "int8",
                           "--reference", data / f"reference/{model}.f32", "--json", *options], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{model}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def best(rows, column):
    """The highest number of the column, and whose it is."""
    found = [(float(r[column]), r["method"]) for r in rows if r[column]]
    return "{:.2f} {}".format(*max(found)) if found else "-"


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("csv", type=pathlib.Path)
parser.add_argument("--models", help="Of the table, with commas between; all")
parser.add_argument("--limit", help="Samples; with it our figures and theirs are of other inputs")
arguments, options = parser.parse_known_args()
rows = list(csv.DictReader(arguments.csv.open()))
if arguments.limit:
    options += ["--limit", arguments.limit]
SHAPE = "{:<33}{:>8}{:>9}  {:<30}{:<30}{}"
print(SHAPE.format("model", "labels %", "SQNR dB", "best labels %", "best SQNR dB", "top-1, points"))
for model in arguments.models.split(",") if arguments.models else dict.fromkeys(r["model"] for r in rows):
    most = max(int(r["n_test"]) for r in rows if r["model"] == model)
    theirs = [r for r in rows if r["model"] == model and int(r["n_test"]) == most and not r["method"].startswith("fp32")]
    got = ours(model, arguments.csv.resolve().parent, options)
    points = "{:+.2f} ({:+.2f} to {:+.2f})".format(got["paired_difference_points"], *got["paired_interval_points"]) if "value" in got else "-"
    agreement = f"{got['label_agreement_percent']:.2f}" if "label_agreement_percent" in got else "-"
    print(SHAPE.format(model, agreement, f"{got['output_sqnr_db']:.2f}", best(theirs, "label_agreement"), best(theirs, "output_sqnr_db"), points), flush=True)
