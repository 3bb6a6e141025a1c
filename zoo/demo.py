"""Builds Longshore, then compiles and measures the zoo's nets and EfficientNet-Lite0 for an NPU; run through script/demo.

Without a network the photographs are left out (their net and pictures come from package registries); the rest needs only
Debian's dataset-fashion-mnist.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOOL = ROOT / "build/release/longshore"
OUT = pathlib.Path("build/demo")  # from the top of the tree, where the tool runs
MODELS = pathlib.Path(os.environ.get("LONGSHORE_MODELS", pathlib.Path.home() / ".cache/longshore/models"))

PIXELS = ["--mean", "127", "--std", "128", "--resize", "stretch"]
CALIBRATION = ["astronaut.png", "page.png", "rocket.jpg", "camera.png", "retina.jpg", "hubble_deep_field.jpg"]  # none that is named
PHOTOS = ["coffee.png", "chelsea.png"]


def longshore(*arguments, show=True, fail=True):
    """Runs the tool; shows its tables as they come; returns what it printed on standard output."""
    line = [str(TOOL), *map(str, arguments)]
    if show:
        print(f"\n$ longshore {' '.join(str(a).replace(str(ROOT) + '/', '') for a in arguments)}", flush=True)
    done = subprocess.run(line, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    if show:
        print(done.stdout, end="", flush=True)
    if fail and done.returncode != 0:
        sys.exit(f"longshore {arguments[0]} ended with exit code {done.returncode}")
    return done.stdout


def as_json(text):
    return json.loads(text.strip().splitlines()[-1])


def evaluate(model, limit, *options):
    return as_json(longshore("eval", model, "--data", "fashion-mnist", *(["--limit", limit] if limit else []), "--json",
                             *options, show=False))["value"]


def net(name, options):
    """Builds one net of the zoo; accuracy in float and int8, and the comparison with the reference."""
    model, bundle = f"zoo/{name}_fashion.onnx", OUT / f"{name}.lsb"
    longshore("build", model, "--target", options.target, "--calibrate", "fashion-mnist", "-o", bundle)
    start = time.monotonic()
    float_value = evaluate(model, options.images, "--on", "cpu")
    print(f"float on the CPU:          {float_value:.2f} %  ({time.monotonic() - start:.0f} s)", flush=True)
    start = time.monotonic()
    int8_value = evaluate(bundle, options.images, "--on", "sim")
    print(f"int8 on the simulated NPU: {int8_value:.2f} %  ({time.monotonic() - start:.0f} s)", flush=True)
    same = as_json(longshore("compare", bundle, "--data", "fashion-mnist", "--limit", options.compare, "--json", fail=False))
    return {"float": float_value, "int8": int8_value}, same


def top(model, photo, *options):
    text = longshore("run", model, "--input", MODELS / photo, *PIXELS, "--top", 1, "--labels", MODELS / "imagenet_labels.txt", "--json",
                     *options, show=False)
    best = as_json(text)["outputs"][0]["top"][0]
    return best["label"]


def fetch_photographs():
    """Whether they, their net and their labels are there now."""
    wanted = ["efficientnet_lite0.onnx", "imagenet_labels.txt", *CALIBRATION, *PHOTOS]
    return all((MODELS / f).exists() for f in wanted) or \
        subprocess.run([ROOT / "script/models", MODELS, *wanted], stdout=subprocess.DEVNULL).returncode == 0


def photographs(options):
    model, bundle = MODELS / "efficientnet_lite0.onnx", OUT / "efficientnet_lite0.lsb"
    calibrate = [a for f in CALIBRATION for a in ("--calibrate", MODELS / f)]
    longshore("build", model, "--dim", "batch=1", "--target", options.target, *calibrate, *PIXELS, "-o", bundle)
    print(f"\n{'photograph':<14} {'float on the CPU':<28} int8 on the simulated NPU", flush=True)
    found = []
    for photo in PHOTOS:
        answer = {"file": photo, "float": top(model, photo, "--dim", "batch=1", "--on", "cpu"), "int8": top(bundle, photo, "--on", "sim")}
        print(f"{photo:<14} {answer['float']:<28} {answer['int8']}", flush=True)
        found.append(answer)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", default="rk3588-like", help="the target, %(default)s")
    parser.add_argument("--images", type=int, default=0, metavar="N", help="only N test images; all 10,000")
    parser.add_argument("--compare", type=int, default=100, metavar="N", help="images compared byte by byte, for each net; %(default)s")
    options = parser.parse_args()
    (ROOT / OUT).mkdir(parents=True, exist_ok=True)

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        fetched = pool.submit(fetch_photographs)  # the network's time is not the compiler's
        if subprocess.run([ROOT / "script/build", "release", "longshore_tool"]).returncode != 0:
            return 1

    result = {}
    totals = {"images_compared": 0, "bytes_compared": 0, "different_bytes": 0}
    for name in ("resnet8", "mobilenetv2"):
        result[name], same = net(name, options)
        totals["images_compared"] += options.compare
        totals["bytes_compared"] += same["bytes_compared"]
        totals["different_bytes"] += same["different_bytes"]
    if not fetched.result():
        print("\nThe photographs are left out: their net or pictures could not be fetched.", flush=True)
    result["photos"] = photographs(options) if fetched.result() else []
    result.update(totals)
    print(json.dumps(result))
    return 0 if totals["different_bytes"] == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
