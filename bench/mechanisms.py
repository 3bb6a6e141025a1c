#!/usr/bin/env python3
"""What each mechanism of planning gains: predicted time and DRAM traffic of nets without it, against the whole plan.

    bench/mechanisms.py [--target NAME] [--save FILE] [MODEL [dim=N ...]] ...

Without models: the nets of bench/make_models.py, with random weights, and those that script/models got. Figures are the
simulator's. A row for each net and the geometric mean; the columns are factors: 1.30x means that the plan without it takes 1.3 times as
long, or moves 1.3 times as much; no factor where the host does it all, whose traffic is not counted. `plain` is without all but FIRST,
which the compiler of `before` had. The column `before` is of
bench/plain_plan.csv: the compiler of commit 92bdd65, before values had orders, layers had cascades and large pools were taken apart.
Since rk3588-like was fitted again after that, it is compared with the whole plan under the numbers that the file had then (BEFORE);
`plain / before` is the plain plan under the same numbers: at most 1 where nothing has become slower. --save writes such a file.
"""
import argparse
import csv
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODELS = pathlib.Path(os.environ.get("LONGSHORE_MODELS", pathlib.Path.home() / ".cache/longshore/models"))
BEFORE_FILE = ROOT / "bench/plain_plan.csv"
TOOL = pathlib.Path(os.environ.get("LONGSHORE", ROOT / "build/release/longshore"))
NETS = ["mobilenet_v2", "mobilenet_v3", "resnet50", "yolov5s", "vit_tiny", "bert_base_128"]
FETCHED = [["efficientnet_lite0", "batch=1"], ["minilm_l6_v2", "batch=1", "sequence=64"],
           ["ppocr4_rec", "p2o.DynamicDimension.0=1", "p2o.DynamicDimension.1=320"],
           ["ppocr4_det", "p2o.DynamicDimension.0=1", "p2o.DynamicDimension.1=320", "p2o.DynamicDimension.2=320"],
           ["ppocr2_cls", "p2o.DynamicDimension.0=1", "p2o.DynamicDimension.1=48", "p2o.DynamicDimension.2=192"]]
MECHANISMS = ["layout", "fusion", "prefetch", "cascades", "horizontal", "cores", "branches"]
FIRST = ["fusion", "prefetch"]
PLAIN_WITHOUT = [name for name in MECHANISMS if name not in FIRST]

BEFORE = {"rk3588-like": ["mac.columns=32", "mac.output_grain=0", "mac.depthwise_lanes=128", "dma.outstanding=20", "vector.table_cycles=8"]}


def measure(model, dims, target, without=(), numbers=()):
    """Milliseconds and megabytes."""
    command = [TOOL, "build", model, "--target", target, "--calibrate-limit", "1", "--calibrator", "min_max", "--no-bias-correction",
               "--json", *(word for dim in dims for word in ("--dim", dim)), *(word for name in without for word in ("--without", name)),
               *(word for number in numbers for word in ("--set", number))]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{model}: exit code {done.returncode}: {done.stderr[-1000:]}")
    report = json.loads(done.stdout.splitlines()[-1])
    return report["latency_ms"], (report["dram_read_bytes"] + report["dram_write_bytes"]) / 1e6


def default_models(temporary):
    """Files and their dims: what bench/make_models.py makes, and what there is of the fetched ones."""
    subprocess.run([sys.executable, ROOT / "bench/make_models.py", temporary, *NETS], check=True, stdout=subprocess.DEVNULL)
    models = [(pathlib.Path(temporary) / f"{name}.onnx", []) for name in NETS]
    for name, *dims in FETCHED:
        if (MODELS / f"{name}.onnx").exists():
            models.append((MODELS / f"{name}.onnx", dims))
        else:
            print(f"{MODELS / name}.onnx is missing: script/models gets it", file=sys.stderr)
    return models


def given_models(words):
    models = []
    for word in words:
        if pathlib.Path(word).exists():
            models.append((pathlib.Path(word), []))
        elif models:
            models[-1][1].append(word)
        else:
            sys.exit(f"{word}: no such file")
    return models


def save(file, target, models):
    with open(file, "w", newline="") as out:
        rows = csv.writer(out, lineterminator="\n")
        rows.writerow(["target", "model", "ms", "megabytes"])
        for model, dims in models:
            ms, megabytes = measure(model, dims, target)
            rows.writerow([target, model.stem, f"{ms:.3f}", f"{megabytes:.2f}"])


def mean(factors):
    """The geometric one. What runs on the host alone has no traffic that is counted."""
    logs = [math.log(factor) for factor in factors if factor > 0]
    return math.exp(sum(logs) / len(logs)) if logs else 0


def shown(factors):
    return "".join(f"{factor:>{width}.2f}x" if factor > 0 else f"{'-':>{width + 1}}" for factor, width in zip(factors, (8, 6)))


def show(target, models):
    plain = {(row["target"], row["model"]): (float(row["ms"]), float(row["megabytes"])) for row in csv.DictReader(open(BEFORE_FILE))}
    columns = [[name] for name in MECHANISMS] + [PLAIN_WITHOUT]
    heads = [*("no " + name for name in MECHANISMS), "plain", "before", "plain / before"]
    numbers = BEFORE.get(target, [])
    print(f"{target:<24}{'ms':>9}{'MB':>8}" + "".join(f"{head:>16}" for head in heads))
    logs = [[] for _ in heads]
    for model, dims in models:
        whole = measure(model, dims, target)
        line = f"{model.stem:<24}{whole[0]:>9.3f}{whole[1]:>8.1f}"
        pairs = [(measure(model, dims, target, without), whole) for without in columns]
        before = plain.get((target, model.stem))
        pairs.append((before, measure(model, dims, target, numbers=numbers) if before else None))
        pairs.append((measure(model, dims, target, PLAIN_WITHOUT, numbers) if before else None, before))
        for log, (other, now) in zip(logs, pairs):
            if other is None:
                line += f"{'?':>16}"
                continue
            log.append([a / b if b > 0 else 0 for a, b in zip(other, now)])
            line += shown(log[-1])
        print(line, flush=True)
    means = [[mean(column) for column in zip(*log)] or [0, 0] for log in logs]
    print(f"{'geometric mean':<41}" + "".join(map(shown, means)))


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--target", default="rk3588-like")
parser.add_argument("--save", metavar="FILE")
parser.add_argument("models", nargs="*", metavar="MODEL or dim=N")
options = parser.parse_args()
with tempfile.TemporaryDirectory() as temporary:
    models = given_models(options.models) or default_models(temporary)
    if options.save:
        save(options.save, options.target, models)
    else:
        show(options.target, models)
