#!/usr/bin/env python3
"""How well targets/rk3588-like.toml predicts the published frame rates of one core.

    bench/fit_rk3588.py [--check]

Builds each net, with random weights of the same dims and plain ranges of one random sample, and prints its predicted
latency beside the published one. Four numbers of the target were fitted to the nets marked `in sample`; the others are
what the prediction is worth. Plans are without cascades, as NVDLA's data path writes each layer to memory,
and with every convolution on the NPU, as the vendor's toolkit has it. --check fails
unless the comments of the target file hold the table as printed.

The rates: airockchip/rknn_model_zoo@bad6c73, README.md, "Model performance benchmark(FPS)", RK3588 with one core, int8,
highest NPU frequency, without pre- and post-processing.
"""
import argparse
import contextlib
import functools
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import make_models

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOOL = pathlib.Path(os.environ.get("LONGSHORE", ROOT / "build/release/longshore"))
TARGET = ROOT / "targets/rk3588-like.toml"
yolo = make_models.yolov5s
NETS = [  # name, frames per second, in sample, how it is made
    ("mobilenet_v2", 450.7, True, make_models.mobilenet_v2),
    ("resnet50", 110.1, True, make_models.resnet50),
    ("yolov5s", 48.4, True, yolo),
    ("yolov5s_relu", 66.1, True, functools.partial(yolo, act="relu")),
    ("yolov5n", 82.5, False, functools.partial(yolo, width=0.5)),
]


def predicted_ms(name, make, folder):
    net = make_models.Net(False)
    model = folder / f"{name}.onnx"
    with contextlib.redirect_stdout(io.StringIO()):
        net.save(model, *make(net))
    done = subprocess.run([TOOL, "build", model, "--target", TARGET, "--calibrate-limit", "1",
                           "--calibrator", "min_max", "--no-bias-correction", "--without", "cascades",
                           "--force", "Conv=npu", "--force", "FusedConv=npu", "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{name}: exit code {done.returncode}: {done.stderr[-1000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])["latency_ms"]


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--check", action="store_true")
options = parser.parse_args()
lines, errors = [], {True: [], False: []}
with tempfile.TemporaryDirectory() as temporary:
    for name, fps, in_sample, make in NETS:
        published, predicted = 1000 / fps, predicted_ms(name, make, pathlib.Path(temporary))
        error = predicted / published - 1
        errors[in_sample].append(abs(error))
        lines.append(f"{name:<13} {fps:5.1f} fps {published:5.2f} ms   predicted {predicted:5.2f} ms  {error * 100:+4.0f} %"
                     + ("  in sample" if in_sample else ""))
        print(lines[-1], flush=True)
for in_sample, found in errors.items():
    lines.append(f"mean {sum(found) / len(found) * 100:.0f} %, greatest {max(found) * 100:.0f} % {'in sample' if in_sample else 'of the others'}")
    print(lines[-1])
if options.check:
    table = "".join(f"#     {line}\n" for line in lines)
    if table not in TARGET.read_text():
        sys.exit(f"the comments of {TARGET.relative_to(ROOT)} do not hold this table:\n{table}")
