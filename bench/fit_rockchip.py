#!/usr/bin/env python3
"""How well the targets of two Rockchip SoCs predict the published frame rates of one core.

    bench/fit_rockchip.py CHIP [--check] [--set KEY=VALUE]...

CHIP is rk3588 or rk3566. Builds each net, with random weights of the same dims and plain ranges of one random sample, and prints its
predicted latency beside the published one. A few numbers of the target were fitted to the nets marked `in sample`; the others are
what the prediction is worth. Plans are without cascades, as NVDLA's data path writes each layer to memory,
and with every convolution on the NPU, as the vendor's toolkit has it. --check fails
unless the comments of the target file hold the table as printed; --set tries another number.

The rates: airockchip/rknn_model_zoo@bad6c73, README.md, "Model performance benchmark(FPS)", RK3588 with one core and the column that
RK3566 and RK3568 share, int8, highest NPU frequency, without pre- and post-processing.
"""
import argparse
import contextlib
import functools
import io
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import make_models

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOOL = pathlib.Path(os.environ.get("LONGSHORE", ROOT / "build/release/longshore"))
CHIPS = ("rk3588", "rk3566")
yolo, yolo8 = make_models.yolov5s, make_models.yolov8
NETS = [  # name, frames per second of each chip, in sample, how it is made
    ("mobilenet_v2", (450.7, 180.7), True, make_models.mobilenet_v2),
    ("resnet50", (110.1, 37.9), True, make_models.resnet50),
    ("yolov5s", (48.4, 19.3), True, yolo),
    ("yolov5s_relu", (66.1, 25.5), True, functools.partial(yolo, act="relu")),
    ("yolov5n", (82.5, 39.7), False, functools.partial(yolo, width=0.5)),
    ("yolov5m", (20.9, 8.6), False, functools.partial(yolo, width=1.5, depth=2)),
    ("yolov8n", (73.5, 34.0), False, functools.partial(yolo8, width=0.5)),
    ("yolov8s", (38.0, 15.1), False, yolo8),
]


def predicted_ms(name, make, target, changes, folder):
    net = make_models.Net(False)
    model = folder / f"{name}.onnx"
    with contextlib.redirect_stdout(io.StringIO()):
        net.save(model, *make(net))
    done = subprocess.run([TOOL, "build", model, "--target", target, "--calibrate-limit", "1",
                           "--calibrator", "min_max", "--no-bias-correction", "--without", "cascades",
                           "--force", "Conv=npu", "--force", "FusedConv=npu", "--json",
                           *(word for change in changes for word in ("--set", change))], capture_output=True, text=True)
    model.unlink()
    if done.returncode != 0:
        sys.exit(f"{name}: exit code {done.returncode}: {done.stderr[-1000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])["latency_ms"]


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("chip", choices=CHIPS)
parser.add_argument("--check", action="store_true")
parser.add_argument("--set", action="append", default=[], dest="changes", metavar="KEY=VALUE")
options = parser.parse_args()
target = ROOT / f"targets/{options.chip}-like.toml"
lines, errors = [], {True: [], False: []}
with tempfile.TemporaryDirectory() as temporary:
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
