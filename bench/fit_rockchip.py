#!/usr/bin/env python3
"""How well the targets of two Rockchip SoCs predict the published frame rates of one core.

    bench/fit_rockchip.py CHIP [--check | --fit] [--set KEY=VALUE]...

CHIP is rk3588 or rk3566. Builds each net, with random weights of the same dims and plain ranges of one random sample, and prints its
predicted latency beside the published one. A few numbers of the target were fitted to the nets marked `in sample`; the others are
what the prediction is worth. Plans are without cascades, as NVDLA's data path writes each layer to memory,
and with every convolution on the NPU, as the vendor's toolkit has it. --check fails
unless the target file holds the table in its comments and the error of the others under [error]; --set tries another number. --fit looks for
numbers that are better in sample: from those in the file it takes steps of one key of FITTED at a time, as long as the mean square of the
logarithms of predicted over published falls, and prints each that is tried. It never looks at the other nets.

resnet50 is the one of the zoo (v2: a BatchNormalization and a ReLU before each block), without the BatchNormalization of its input.

The rates: airockchip/rknn_model_zoo@bad6c73, README.md, "Model performance benchmark(FPS)", RK3588 with one core and the column that
RK3566 and RK3568 share, int8, highest NPU frequency, without pre- and post-processing.
"""
import argparse
import contextlib
import functools
import io
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import tomllib

import make_models

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOOL = pathlib.Path(os.environ.get("LONGSHORE", ROOT / "build/release/longshore"))
CHIPS = ("rk3588", "rk3566")
yolo, yolo8 = make_models.yolov5s, make_models.yolov8
NETS = [  # name, frames per second of each chip, in sample, how it is made
    ("mobilenet_v2", (450.7, 180.7), True, make_models.mobilenet_v2),
    ("resnet50", (110.1, 37.9), True, make_models.resnet50_v2),
    ("yolov5s", (48.4, 19.3), True, yolo),
    ("yolov5s_relu", (66.1, 25.5), True, functools.partial(yolo, act="relu")),
    ("yolov5n", (82.5, 39.7), False, functools.partial(yolo, width=0.5)),
    ("yolov5m", (20.9, 8.6), False, functools.partial(yolo, width=1.5, depth=2)),
    ("yolov8n", (73.5, 34.0), False, functools.partial(yolo8, width=0.5)),
    ("yolov8s", (38.0, 15.1), False, yolo8),
    ("yolov8m", (16.2, 6.5), False, functools.partial(yolo8, width=1.5, depth=2, most=576)),
    ("yolox_s", (37.1, 15.2), False, make_models.yolox_s),
]


FITTED = {  # and the step that --fit takes
    "dma.outstanding": 1,
    "mac.columns": 1,
    "mac.depthwise_lanes": 32,
    "vector.table_cycles": 0.5,
}


def predicted_ms(name, make, target, changes, folder):
    net = make_models.Net(False)
    model = folder / f"{name}.onnx"
    if not model.exists():
        with contextlib.redirect_stdout(io.StringIO()):
            net.save(model, *make(net))
    done = subprocess.run([TOOL, "build", model, "--target", target, "--calibrate-limit", "1",
                           "--calibrator", "min_max", "--no-bias-correction", "--without", "cascades",
                           "--force", "Conv=npu", "--force", "FusedConv=npu", "--json",
                           *(word for change in changes for word in ("--set", change))], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{name}: exit code {done.returncode}: {done.stderr[-1000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])["latency_ms"]


def fit(chip, target, changes, folder):
    """The numbers of FITTED to which no neighbour is better in sample."""
    at = tomllib.loads(target.read_text())["npu"]
    base = tomllib.loads((ROOT / "targets" / f"{CHIPS[0]}-like.toml").read_text())["npu"]  # what the other inherits
    start = {key: at.get(key.split(".")[0], {}).get(key.split(".")[1], base[key.split(".")[0]][key.split(".")[1]]) for key in FITTED}
    known = {}

    def mean_square(numbers):
        found = tuple(numbers.values())
        if found not in known:
            sets = changes + [f"{key}={value}" for key, value in numbers.items()]
            errors = [math.log(predicted_ms(name, make, target, sets, folder) * rates[CHIPS.index(chip)] / 1000)
                      for name, rates, in_sample, make in NETS if in_sample]
            known[found] = statistics.mean(e * e for e in errors)
            print(f"{known[found] ** 0.5:.4f}  " + "  ".join(f"{e * 100:+5.1f} %" for e in errors) + "  " + " ".join(sets), flush=True)
        return known[found]

    best, moved = start, True
    while moved:
        neighbours = [{**best, key: best[key] + step * way} for key, step in FITTED.items() for way in (1, -1)]
        nearest = min((n for n in neighbours if min(n.values()) > 0), key=mean_square)
        moved = mean_square(nearest) < mean_square(best)
        best = nearest if moved else best
    print("best: " + " ".join(f"{key}={value}" for key, value in best.items()))


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("chip", choices=CHIPS)
parser.add_argument("--check", action="store_true")
parser.add_argument("--fit", action="store_true")
parser.add_argument("--set", action="append", default=[], dest="changes", metavar="KEY=VALUE")
options = parser.parse_args()
target = ROOT / f"targets/{options.chip}-like.toml"
lines, errors = [], {True: [], False: []}
with tempfile.TemporaryDirectory() as temporary:
    if options.fit:
        fit(options.chip, target, options.changes, pathlib.Path(temporary))
        sys.exit()
    for name, rates, in_sample, make in NETS:
        fps = rates[CHIPS.index(options.chip)]
        published, predicted = 1000 / fps, predicted_ms(name, make, target, options.changes, pathlib.Path(temporary))
        error = predicted / published - 1
        errors[in_sample].append(abs(error))
        lines.append(f"{name:<13} {fps:5.1f} fps {published:6.2f} ms   predicted {predicted:6.2f} ms  {error * 100:+4.0f} %"
                     + ("  in sample" if in_sample else ""))
        print(lines[-1], flush=True)
for in_sample, found in errors.items():
    lines.append(f"median {statistics.median(found) * 100:.0f} %, greatest {max(found) * 100:.0f} % {'in sample' if in_sample else 'of the others'}")
    print(lines[-1])
if options.check:
    table = "".join(f"#     {line}\n" for line in lines)
    if table not in target.read_text():
        sys.exit(f"the comments of {target.relative_to(ROOT)} do not hold this table:\n{table}")
    others = errors[False]
    found = {"nets": len(others), "median_percent": round(statistics.median(others) * 100), "most_percent": round(max(others) * 100)}
    stated = tomllib.loads(target.read_text()).get("error", {})
    if any(stated.get(key) != value for key, value in found.items()):
        sys.exit(f"[error] of {target.relative_to(ROOT)}: expected {found}, found {stated}")
