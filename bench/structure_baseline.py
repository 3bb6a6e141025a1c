#!/usr/bin/env python3
"""Holds what a change of structure must not change: int8 bytes, predicted time, float outputs.

    bench/structure_baseline.py save|check [--tool PATH] [--only NAME] [--file PATH]

Six nets are built for two targets with a fixed calibration and run on a fixed input: the sha256 of each output's bytes
and the predicted latency must be equal; the float model runs on the CPU, and 64 elements of each output must agree
within 1e-4 of the largest. `save` writes bench/structure_baseline.json, `check` prints each difference and exits with 1
if there is one. Kernels are the generic ones, so that no number depends on the machine.

Models: the zoo's; those of script/models (efficientnet_lite0, bench), in $LONGSHORE_MODELS or ~/.cache/longshore/models.
"""
import argparse
import array
import hashlib
import json
import math
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODELS = pathlib.Path(os.environ.get("LONGSHORE_MODELS") or pathlib.Path.home() / ".cache/longshore/models")
TARGETS = ["rk3588-like", "shore-1"]
NETS = {
    "resnet8_fashion": ROOT / "zoo/resnet8_fashion.onnx",
    "mobilenetv2_fashion": ROOT / "zoo/mobilenetv2_fashion.onnx",
    "efficientnet_lite0": MODELS / "efficientnet_lite0.onnx",
    "mobilenet_v2": MODELS / "bench/mobilenet_v2.onnx",
    "resnet50": MODELS / "bench/resnet50.onnx",
    "yolov5s": MODELS / "bench/yolov5s.onnx",
}
SAMPLES = 64        # elements of a float output that are kept
FLOAT_BOUND = 1e-4  # of the largest element
ENVIRONMENT = dict(os.environ, LONGSHORE_CPU="generic", LONGSHORE_TARGETS=str(ROOT / "targets"))


def longshore(tool, *arguments):
    done = subprocess.run([tool, *map(str, arguments)], cwd=ROOT, env=ENVIRONMENT, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"longshore {arguments[0]}: exit code {done.returncode}: {done.stderr.strip()[-400:]}")
    return done.stdout


def write_npy(path, dims, seed):
    """Floats of -2 to 2 in steps of 1/64, always the same for a seed."""
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({', '.join(map(str, dims))},), }}"
    header = header.ljust(-(len(header) + 11) % 64 + len(header)) + "\n"
    values = array.array("f", ((byte - 128) / 64 for byte in random.Random(seed).randbytes(math.prod(dims))))
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + values.tobytes())


def outputs(folder):
    return {path.stem: path.read_bytes() for path in sorted(folder.glob("*.npy"))}


def floats(npy):
    """The elements of a float32 .npy; None for another type."""
    start = 10 + struct.unpack("<H", npy[8:10])[0]
    return array.array("f", npy[start:]) if b"'<f4'" in npy[:start] else None


def measure(tool, model):
    found = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        batch = ["--dim", "batch=1"]
        facts = json.loads(longshore(tool, "inspect", model, "--json"))
        if "batch" not in facts["dynamic_dims"]:
            batch = []
        dims = [d if isinstance(d, int) else 1 for d in facts["inputs"][0]["dims"]]
        samples = folder / "samples"
        samples.mkdir()
        for index in range(2):
            write_npy(samples / f"{index}.npy", dims, index)
        write_npy(folder / "input.npy", dims, 100)

        longshore(tool, "run", model, *batch, "--on", "cpu", "--input", folder / "input.npy", "--output-dir", folder / "float")
        found["float"] = {}
        for name, npy in outputs(folder / "float").items():
            values = floats(npy)
            if values is not None:
                step = max(1, len(values) // SAMPLES)
                found["float"][name] = {"largest": max(map(abs, values)), "sample": list(values[::step][:SAMPLES])}
        for target in TARGETS:
            bundle = folder / f"{target}.lsb"
            report = json.loads(longshore(tool, "build", model, *batch, "--target", target, "--calibrate", samples, "-o", bundle, "--json")
                                .strip().splitlines()[-1])
            longshore(tool, "run", bundle, "--on", "sim", "--input", folder / "input.npy", "--output-dir", folder / target)
            found[target] = {
                "latency_ms": report["latency_ms"],
                "sha256": {name: hashlib.sha256(npy).hexdigest() for name, npy in outputs(folder / target).items()},
            }
    return found


def differences(name, old, new):
    """One line for each thing that is not as it was."""
    lines = []
    for target in TARGETS:
        a, b = old[target], new[target]
        if a["latency_ms"] != b["latency_ms"]:
            lines.append(f"{name} {target}: latency {a['latency_ms']:.6f} ms, now {b['latency_ms']:.6f} ms "
                         f"({(b['latency_ms'] / a['latency_ms'] - 1) * 100:+.3f} %)")
        for output in sorted(a["sha256"].keys() | b["sha256"].keys()):
            if a["sha256"].get(output) != b["sha256"].get(output):
                lines.append(f"{name} {target}: other bytes in output {output}")
    for output in sorted(old["float"].keys() | new["float"].keys()):
        a, b = old["float"].get(output), new["float"].get(output)
        if a is None or b is None or len(a["sample"]) != len(b["sample"]):
            lines.append(f"{name} float: output {output} is another")
            continue
        error = max(abs(x - y) for x, y in zip(a["sample"], b["sample"])) / (a["largest"] or 1)
        if not error <= FLOAT_BOUND:
            lines.append(f"{name} float: output {output} differs by {error:.2e} of its largest element")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", choices=["save", "check"])
    parser.add_argument("--tool", type=pathlib.Path, default=ROOT / "build/release/longshore")
    parser.add_argument("--only", help="only nets whose name holds this")
    parser.add_argument("--file", type=pathlib.Path, default=ROOT / "bench/structure_baseline.json")
    options = parser.parse_args()
    saved = json.loads(options.file.read_text()) if options.file.exists() else {}
    bad = compared = 0
    for name, model in NETS.items():
        if options.only and options.only not in name:
            continue
        if not model.exists():
            print(f"SKIP {name}: {model} is not there (script/models fetches it)", flush=True)
            continue
        found = measure(options.tool.resolve(), model)
        if options.mode == "save":
            saved[name] = found
            options.file.write_text(json.dumps(saved, indent=1) + "\n")
            print(name, *(f"{t} {found[t]['latency_ms']:.3f} ms" for t in TARGETS), flush=True)
            continue
        if name not in saved:
            print(f"SKIP {name}: not in {options.file.name}", flush=True)
            continue
        lines = differences(name, saved[name], found)
        print("\n".join(lines) if lines else f"{name}: as it was", flush=True)
        bad, compared = bad + len(lines), compared + 1
    if options.mode == "check":
        print(f"{compared} nets compared, {bad} differences")
    return 1 if bad or (options.mode == "check" and not compared) else 0


if __name__ == "__main__":
    sys.exit(main())
