#!/usr/bin/env python3
"""At least 95 % of the MACs of four real architectures run on rk3588-like's NPU, and every other node says why not."""
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


failures = []
with tempfile.TemporaryDirectory() as temporary:
    folder = pathlib.Path(temporary)
    subprocess.run([sys.executable, ROOT / "bench/make_models.py", folder, "mobilenet_v2", "resnet50", "yolov5s"], check=True,
                   stdout=subprocess.DEVNULL)
    cases = [(folder / f"{name}.onnx", []) for name in ("mobilenet_v2", "resnet50", "yolov5s")]
    if (MODELS / "efficientnet_lite0.onnx").exists():
        cases.append((MODELS / "efficientnet_lite0.onnx", ["--dim", "batch=1"]))
    else:
        print("SKIP efficientnet_lite0: script/models has not fetched it")
    for model, options in cases:
        report, seconds = build(model, folder / "out.lsb", *options)
        print(f"{model.stem}: {report['npu_mac_share'] * 100:.1f} % of {report['macs'] / 1e9:.3f} GMAC on the NPU, "
              f"{report['latency_ms']:.2f} ms predicted, built in {seconds:.1f} s", flush=True)
        if report["npu_mac_share"] < 0.95:
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
