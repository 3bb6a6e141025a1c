#!/usr/bin/env python3
"""On rk3588-like's NPU run at least 95 % of the MACs of convolution nets and 80 % of transformers'; every other node says why not.

Without LONGSHORE_FULL=1 only some of them, and one calibration sample for all but YOLOv5s, whose memory is measured.
"""
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MODELS = pathlib.Path(os.environ.get("LONGSHORE_MODELS", pathlib.Path.home() / ".cache/longshore/models"))


def build(model, bundle, *options):
    start = time.monotonic()
    done = subprocess.run([ROOT / "build/release/longshore", "build", model, "--target", "rk3588-like", "--json", "-o", bundle, *options],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{model}: exit code {done.returncode}\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1]), time.monotonic() - start


PADDLE = "p2o.DynamicDimension."
MADE = {"mobilenet_v2": 0.95, "resnet50": 0.95, "yolov5s": 0.95, "vit_tiny": 0.8}  # by bench/make_models.py: the least share
FETCHED = {
    "efficientnet_lite0": (0.95, "batch=1"),
    "minilm_l6_v2": (0.8, "batch=1 sequence=64"),
    "ppocr4_rec": (0.8, f"{PADDLE}0=1 {PADDLE}1=320"),
}
if os.environ.get("LONGSHORE_FULL"):
    MADE |= {"mobilenet_v3": 0.95, "bert_base_128": 0.8}
    FETCHED |= {"ppocr4_det": (0.95, f"{PADDLE}0=1 {PADDLE}1=320 {PADDLE}2=320"),
                "ppocr2_cls": (0.95, f"{PADDLE}0=1 {PADDLE}1=48 {PADDLE}2=192")}

failures = []
with tempfile.TemporaryDirectory() as temporary:
    folder = pathlib.Path(temporary)
    subprocess.run([sys.executable, ROOT / "bench/make_models.py", folder, *MADE], check=True, stdout=subprocess.DEVNULL)
    cases = [(folder / f"{name}.onnx", least, "") for name, least in MADE.items()]
    for name, (least, dims) in FETCHED.items():
        if (MODELS / f"{name}.onnx").exists():
            cases.append((MODELS / f"{name}.onnx", least, dims))
        else:
            print(f"SKIP {name}: script/models has not fetched it")
    for model, least, dims in cases:
        options = [word for dim in dims.split() for word in ("--dim", dim)]
        if model.stem != "yolov5s":
            options += ["--calibrate-limit", "1"]
        report, seconds = build(model, folder / "out.lsb", *options)
        print(f"{model.stem}: {report['npu_mac_share'] * 100:.1f} % of {report['macs'] / 1e9:.3f} GMAC on the NPU, "
              f"{report['latency_ms']:.2f} ms predicted, built in {seconds:.1f} s", flush=True)
        if report["npu_mac_share"] < least:
            failures.append(f"{model.stem}: only {report['npu_mac_share']} of the MACs are on the NPU")
        for node in report["nodes"]:
            if node["unit"] == "cpu" and (not node["reasons"] or not all(r["text"] and r["change"] for r in node["reasons"])):
                failures.append(f"{model.stem}: {node['name']} is on the CPU without a reason")
            if node["unit"] == "cpu" and not node["cpu_us"] >= 0:
                failures.append(f"{model.stem}: {node['name']} has no price")
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
print(f"largest memory of a build: {peak:.2f} GiB")
if peak > 3:
    failures.append(f"a build took {peak:.2f} GiB, the limit is 3")
print("\n".join(failures))
sys.exit(bool(failures))
