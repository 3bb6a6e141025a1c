#!/usr/bin/env python3
"""Holds our integer convolution and matrix product against ONNX Runtime, byte for byte.

    "$(script/oracle_env)" tests/oracle/qlinear.py [--seed N] [--full]

Random QLinearConv and QLinearMatMul models: u8 and s8 activations, s8 and u8 weights, one scale or one
per channel, weight zero points, padding, strides, dilations, groups, depthwise, with and without bias.
Each runs in ONNX Runtime and three times here: the operator itself (test-onnx), its quantised form in
the reference (run --on reference) and on the CPU's kernels (run --on cpu). Prints the number of
outputs that were compared; exit status 1 if one differs or if there were fewer than a million.

ONNX Runtime's u8 x s8 products saturate on cores without VNNI: there weights stay in -64..63.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LONGSHORE = pathlib.Path(os.environ.get("LONGSHORE", ROOT / "build/release/longshore"))
LEAST = 1_000_000


def has_vnni():
    try:
        return "vnni" in pathlib.Path("/proc/cpuinfo").read_text()
    except OSError:
        return False


class Case:
    """A model of one node, its input, and a name that says what is tested."""

    def __init__(self, rng, name, op, x, w, x_type, w_type, channels, per_channel, weight_zero, bias, reduction, **attributes):
        self.name = f"{op} {name} {np.dtype(x_type)}{np.dtype(w_type)}" + \
            ("" if not per_channel else " per channel") + ("" if not weight_zero else " weight zero points") + (" bias" if bias else "")
        low, high = (-128, 128) if FULL_RANGE else (-64, 64)
        self.x = rng.integers(np.iinfo(x_type).min, np.iinfo(x_type).max + 1, x).astype(x_type)
        weights = rng.integers(low, high, w).astype(np.int64)
        if w_type == np.uint8:
            weights += 128
        many = channels if per_channel else 1
        scale = lambda n: rng.uniform(0.5, 1.5, n).astype(np.float32)
        shape = () if not per_channel else (many,)
        middle = 128 if w_type == np.uint8 else 0
        zeros = np.full(many, middle) + (rng.integers(-9, 10, many) if weight_zero else 0)
        x_scale, w_scale = np.float32(0.02) * scale(1)[0], np.float32(0.01) * scale(many)
        zero_of = lambda t: np.array(int(np.iinfo(t).min) + int(rng.integers(90, 160)), t)
        # Outputs spread over the codes, a few of them clipped.
        spread = float(x_scale) * float(np.mean(w_scale)) * 74 * (74 if FULL_RANGE else 37) * np.sqrt(reduction)
        y_scale = np.float32(spread / 45 * rng.uniform(0.8, 1.2))
        inputs = {"x_scale": x_scale, "x_zero": zero_of(x_type), "w": weights.astype(w_type),
                  "w_scale": w_scale.reshape(shape), "w_zero": zeros.reshape(shape).astype(w_type),
                  "y_scale": y_scale, "y_zero": zero_of(x_type)}
        if bias:
            inputs["b"] = rng.integers(-40000, 40000, channels).astype(np.int32)
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(x_type))
        node = helper.make_node(op, ["x"] + list(inputs), ["y"], **attributes)
        graph = helper.make_graph([node], "oracle", [helper.make_tensor_value_info("x", kind, x)],
                                  [helper.make_tensor_value_info("y", kind, None)],
                                  [numpy_helper.from_array(np.asarray(v), k) for k, v in inputs.items()])
        self.model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)

    def expected(self):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(self.model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return session.run(None, {"x": self.x})[0]


def cases(rng):
    for x_type in (np.uint8, np.int8):
        for w_type, per_channel, weight_zero in ((np.int8, False, False), (np.int8, True, False), (np.uint8, False, True)):
            if x_type == np.int8 and w_type == np.uint8:
                continue  # ONNX Runtime has no such kernel
            kinds = x_type, w_type
            conv = lambda name, x, w, bias, **a: Case(rng, name, "QLinearConv", x, w, *kinds, w[0], per_channel, weight_zero,
                                                      bias, int(np.prod(w[1:])), **a)
            yield conv("3x3", [1, 16, 32, 32], [48, 16, 3, 3], True, pads=[1, 1, 1, 1])
            yield conv("1x1", [1, 64, 32, 32], [48, 64, 1, 1], False)
            yield conv("5x5 stride 2, uneven pads", [1, 5, 47, 61], [40, 5, 5, 5], True, strides=[2, 2], pads=[1, 2, 3, 0])
            yield conv("3x3 dilated", [1, 12, 40, 36], [32, 12, 3, 3], False, dilations=[2, 3], pads=[2, 3, 2, 3])
            yield conv("depthwise", [1, 40, 33, 35], [40, 1, 3, 3], True, group=40, pads=[1, 1, 1, 1])
            yield conv("4 groups", [1, 16, 32, 32], [32, 4, 3, 3], True, group=4, pads=[0, 1, 1, 0])
            matmul = lambda name, a, b: Case(rng, name, "QLinearMatMul", a, b, *kinds, b[-1], per_channel, weight_zero, False, b[-2])
            yield matmul("2-D", [193, 75], [75, 160])
            yield matmul("batch", [3, 61, 128], [128, 150])


def compare(got, want):
    if got.dtype != want.dtype or got.shape != want.shape:
        return f"{got.dtype}{list(got.shape)} instead of {want.dtype}{list(want.shape)}"
    different = np.flatnonzero(got.ravel() != want.ravel())
    if not len(different):
        return ""
    at = different[0]
    return f"{len(different)} outputs differ; first at {at}: {got.ravel()[at]} instead of {want.ravel()[at]}"


def ours(folder, on):
    out = folder / on
    result = subprocess.run([LONGSHORE, "run", folder / "model.onnx", "--input", folder / "x.npy", "--on", on, "--output-dir", out],
                            capture_output=True, text=True)
    if result.returncode:
        raise SystemExit(f"longshore run --on {on}: {result.stderr.strip()}")
    return np.load(out / "y.npy")


def judge(case, folder):
    """Number of outputs, the part that is clipped, and what was wrong."""
    data = folder / "test_data_set_0"
    data.mkdir()
    want = case.expected()
    onnx.save(case.model, folder / "model.onnx")
    np.save(folder / "x.npy", case.x)
    (data / "input_0.pb").write_bytes(numpy_helper.from_array(case.x, "x").SerializeToString())
    (data / "output_0.pb").write_bytes(numpy_helper.from_array(want, "y").SerializeToString())
    found = {on: compare(ours(folder, on), want) for on in ("reference", "cpu")}
    test = subprocess.run([LONGSHORE, "test-onnx", folder], capture_output=True, text=True)
    found["operator"] = "" if test.returncode == 0 else (test.stdout + test.stderr).strip()
    clipped = np.mean((want == np.iinfo(want.dtype).min) | (want == np.iinfo(want.dtype).max))
    return want.size, clipped, {k: v for k, v in found.items() if v}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--full", action="store_true", help="ten seeds, more than 10^7 outputs")
    args = parser.parse_args()
    compared = bad = 0
    print(f"ONNX Runtime {onnxruntime.__version__}, seed {args.seed}, weights over "
          f"{'all codes' if FULL_RANGE else '-64..63, since this core has no VNNI'}", flush=True)
    for seed in range(args.seed, args.seed + (10 if args.full else 1)):
        for case in cases(np.random.default_rng(seed)):
            with tempfile.TemporaryDirectory() as temporary:
                size, clipped, wrong = judge(case, pathlib.Path(temporary))
            compared += size
            bad += bool(wrong)
            print(f"{'FAIL' if wrong else 'PASS'} {case.name}: {size} outputs, {100 * clipped:.1f} % clipped, "
                  f"{wrong or 'equal'}", flush=True)
    print(f"{compared} outputs of ONNX Runtime compared with the operator, its quantised form and the CPU's kernels: "
          f"{'all equal' if not bad else f'{bad} cases differ'}")
    sys.exit(bad > 0 or compared < LEAST)


if __name__ == "__main__":
    FULL_RANGE = has_vnni()
    main()
