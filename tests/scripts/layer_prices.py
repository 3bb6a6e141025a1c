#!/usr/bin/env python3
"""The plan's price of each layer is within 5 % of the simulator's time for it alone: real and benchmark models, three targets.

Without LONGSHORE_FULL=1 only some of them: to calibrate a transformer takes minutes.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MODELS = pathlib.Path(os.environ.get("LONGSHORE_MODELS", pathlib.Path.home() / ".cache/longshore/models"))
BENCH = ["mobilenet_v2", "mobilenet_v3", "resnet50", "vit_tiny", "yolov5s", "bert_base_128"]
PADDLE = "p2o.DynamicDimension."
REAL = {
    "efficientnet_lite0": "batch=1",
    "minilm_l6_v2": "batch=1 sequence=64",
    "nsnet2": "batch_size=1 frames=16",
    "ppocr2_cls": f"{PADDLE}0=1 {PADDLE}1=48 {PADDLE}2=192",
    "ppocr4_det": f"{PADDLE}0=1 {PADDLE}1=320 {PADDLE}2=320",
    "ppocr4_rec": f"{PADDLE}0=1 {PADDLE}1=320",
}

if not os.environ.get("LONGSHORE_FULL"):
    BENCH, REAL = ["mobilenet_v2"], {name: REAL[name] for name in ("nsnet2", "ppocr4_rec")}

failures = []
with tempfile.TemporaryDirectory() as folder:
    subprocess.run([sys.executable, ROOT / "bench/make_models.py", folder, *BENCH], check=True, stdout=subprocess.DEVNULL)
    models = [(pathlib.Path(folder) / f"{name}.onnx", "") for name in BENCH]
    models += [(MODELS / f"{name}.onnx", dims) for name, dims in REAL.items()]
    for model, dims in models:
        if not model.exists():
            print(f"SKIP {model.stem}: script/models has not fetched it")
            continue
        done = subprocess.run([ROOT / "build/release/longshore_tests", "--gtest_brief=1", "--gtest_filter=LayerPrices.OfModels"], cwd=ROOT,
                              env=dict(os.environ, LONGSHORE_PRICED_MODEL=f"{model} {dims}"), capture_output=True, text=True)
        priced = [line for line in done.stdout.splitlines() if " layers, " in line]
        print("\n".join(priced), flush=True)
        if done.returncode != 0 or len(priced) != 3:  # one for each target
            failures.append(done.stdout[-3000:] + done.stderr[-1000:])
print("\n".join(failures))
sys.exit(bool(failures))
