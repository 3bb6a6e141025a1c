#!/usr/bin/env python3
"""Programs that are given a camera's bytes: on rk3588-like's NPU no layer that reads 3 channels takes over 10 % of its model's time,
the CPU does nothing before it, and a picture gives what it gives the same model with floats.

Without LONGSHORE_FULL=1 only some of the models. One calibration sample: the times do not depend on it.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import cli  # noqa: E402

cli.with_oracle()
import numpy  # noqa: E402

check = cli.Checks()
MODELS = pathlib.Path(os.environ.get("LONGSHORE_MODELS", pathlib.Path.home() / ".cache/longshore/models"))
MOST_SHARE = 0.1
IMAGENET = ("--mean", "123.675,116.28,103.53", "--std", "58.395,57.12,57.375")
HALVES = ("--mean", "127.5", "--std", "127.5")
PADDLE = "p2o.DynamicDimension."
MADE = {"mobilenet_v2": IMAGENET}
FETCHED = {"efficientnet_lite0": (("--mean", "127", "--std", "128"), "batch=1"),
           "ppocr4_rec": (HALVES, f"{PADDLE}0=1 {PADDLE}1=320")}
if os.environ.get("LONGSHORE_FULL"):
    MADE |= {"resnet50": IMAGENET, "mobilenet_v3": IMAGENET, "yolov5s": ()}
    FETCHED |= {"ppocr4_det": (IMAGENET, f"{PADDLE}0=1 {PADDLE}1=320 {PADDLE}2=320"),
                "ppocr2_cls": (HALVES, f"{PADDLE}0=1 {PADDLE}1=48 {PADDLE}2=192")}
BYTES = ("--input-type", "u8", "--input-layout", "nhwc")


def build(model, bundle, *options):
    done = cli.run("build", model, "--target", "rk3588-like", "--json", "-o", bundle, "--calibrate-limit", "1",
                   "--calibrator", "min_max", "--no-bias-correction", *options)
    check.that(done.returncode == 0, f"{model.stem}: build", done.stderr[-1000:])
    return json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else None


def first_layers(model, *options):
    """Predicted milliseconds with floats and with bytes, and the share of the layers that read the picture."""
    with tempfile.TemporaryDirectory() as temporary:
        bundle = pathlib.Path(temporary) / "out.lsb"
        floats, given = build(model, bundle, *options), build(model, bundle, *options, *BYTES)
        if not floats or not given:
            return
        front = []  # up to and with the model's own first layer, which the program of floats has too
        known = {node["name"] for node in floats["nodes"] if node["unit"] == "npu"}
        for node in given["nodes"]:
            front.append(node)
            if node["name"] in known:
                break
        shares = [(node.get("latency_ms") or 0) / given["latency_ms"] for node in front]
        print(f"{model.stem}: {floats['latency_ms']:.3f} ms with floats, {given['latency_ms']:.3f} ms with bytes, of which "
              + " + ".join(f"{share * 100:.1f} %" for share in shares if share) + " for what reads 3 channels", flush=True)
        for node, share in zip(front, shares):
            check.that(node["unit"] == "npu", f"{model.stem}: '{node['name']}' stands before the first layer on the CPU", node)
            check.that(share <= MOST_SHARE, f"{model.stem}: '{node['name']}' takes {share * 100:.1f} %", node)
        check.that(given["latency_ms"] <= 1.01 * floats["latency_ms"], f"{model.stem}: bytes are no slower", given["latency_ms"])
        done = cli.run("compare", bundle, "--json")
        check.that(done.returncode == 0, f"{model.stem}: compare", done.stdout[-500:] + done.stderr[-500:])


def same_picture(model, picture, *numbers):
    """One picture through both programs, which are calibrated with it."""
    with tempfile.TemporaryDirectory() as temporary:
        here, outputs = pathlib.Path(temporary), []
        for name, options, reading in (("floats", (), numbers), ("bytes", BYTES, ())):
            if not build(model, here / "out.lsb", "--dim", "batch=1", "--calibrate", picture, *numbers, *options):
                return
            done = cli.run("run", here / "out.lsb", "--input", picture, *reading, "--output-dir", here / name)
            if not check.that(done.returncode == 0, f"{model.stem}: run with {name}", done.stderr[-500:]):
                return
            outputs.append(numpy.load(next((here / name).glob("*.npy"))).ravel())
        difference = float(numpy.abs(outputs[0] - outputs[1]).max() / numpy.abs(outputs[0]).max())
        print(f"{model.stem} of {picture.name}: bytes against floats differ by {difference * 100:.2f} % of the greatest output")
        check.that(difference <= 0.05 and outputs[0].argmax() == outputs[1].argmax(), f"{model.stem}: the same answer", difference)


with tempfile.TemporaryDirectory() as scratch:
    folder = pathlib.Path(scratch)
    subprocess.run([sys.executable, cli.ROOT / "bench/make_models.py", folder, *MADE], check=True, stdout=subprocess.DEVNULL)
    for name, options in MADE.items():
        first_layers(folder / f"{name}.onnx", *options)
    for name, (options, dims) in FETCHED.items():
        if (MODELS / f"{name}.onnx").exists():
            first_layers(MODELS / f"{name}.onnx", *options, *(word for dim in dims.split() for word in ("--dim", dim)))
        else:
            print(f"SKIP {name}: script/models has not fetched it")
if (MODELS / "efficientnet_lite0.onnx").exists() and (MODELS / "chelsea.png").exists():
    same_picture(MODELS / "efficientnet_lite0.onnx", MODELS / "chelsea.png", "--mean", "127", "--std", "128")
sys.exit(check.finish())
