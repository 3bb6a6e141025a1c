#!/usr/bin/env python3
"""Models that ONNX Runtime quantised, run here: the imported integer form against ONNX Runtime's own kernels.

    "$(script/oracle_env)" tests/oracle/imported.py [--full]

The zoo's nets and one of patterns, quantised by ONNX Runtime with explicit nodes (QDQ), u8 and s8 activations. Convolutions and products
agree byte for byte (qlinear.py); ONNX Runtime's QLinearAdd and QLinearGlobalAveragePool round in their own way, one step
at most, so whole nets are compared by the SQNR of their outputs; reference and CPU must be equal. Its form with integer
operators only needs com.microsoft.QLinearAdd, QGemm and others, which are not read yet.
"""
import logging
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnxruntime import quantization
from onnxruntime.quantization.shape_inference import quant_pre_process

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LONGSHORE = pathlib.Path(os.environ.get("LONGSHORE", ROOT / "build/release/longshore"))
LEAST_SQNR_DB = 25


class Samples(quantization.CalibrationDataReader):
    def __init__(self, images):
        self.left = iter(images)

    def get_next(self):
        image = next(self.left, None)
        return None if image is None else {"input": image}


def quantise(source, out, images, activation):
    fused = out.with_suffix(".fused.onnx")
    quant_pre_process(str(source), str(fused), skip_symbolic_shape=True)
    quantization.quantize_static(str(fused), str(out), Samples(images), quant_format=quantization.QuantFormat.QDQ, per_channel=True,
                                 # Its u8 x s8 products saturate on cores without VNNI: there weights stay in -64..63.
                                 reduce_range="vnni" not in pathlib.Path("/proc/cpuinfo").read_text(), activation_type=activation, weight_type=quantization.QuantType.QInt8)


def theirs(path, images):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return np.concatenate([session.run(None, {"input": image})[0] for image in images])


def ours(path, images, on, folder):
    outputs = []
    for image in images:
        np.save(folder / "x.npy", image)
        done = subprocess.run([LONGSHORE, "run", path, "--input", folder / "x.npy", "--on", on, "--output-dir", folder / on],
                              capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr.strip())
        outputs.append(np.load(next((folder / on).glob("*.npy"))))
    return np.concatenate(outputs)


def patterns(path):
    """A net of what the optimiser's rules look for in float. Between codes each operator rounds, so they must let it be."""
    rng = np.random.default_rng(2)
    nodes, constants = [], []

    def constant(array):
        constants.append(onnx.numpy_helper.from_array(np.asarray(array), f"c{len(constants)}"))
        return constants[-1].name

    def node(op, *inputs, **attributes):
        nodes.append(onnx.helper.make_node(op, list(inputs), [f"v{len(nodes)}"], **attributes))
        return nodes[-1].output[0]

    def conv(x, channels, out, **attributes):
        w = rng.standard_normal((out, channels, 3, 3)).astype(np.float32) * (2 / (9 * channels)) ** 0.5
        b = rng.standard_normal(out).astype(np.float32) * 0.2
        return node("Conv", x, constant(w), constant(b), kernel_shape=[3, 3], **attributes)

    x = conv("input", 1, 8, pads=[1] * 4)
    x = node("Mul", x, node("Sigmoid", x))
    x = conv(node("Pad", x, constant(np.array([0, 0, 1, 1, 0, 0, 1, 1])), constant(np.float32(0))), 8, 12, strides=[2, 2])
    x = node("Mul", x, node("HardSigmoid", x, alpha=1 / 6, beta=0.5))
    x = node("Transpose", node("Transpose", x, perm=[0, 2, 3, 1]), perm=[0, 3, 2, 1])
    x = node("Relu", node("Relu", node("BatchNormalization", x, *(constant(rng.random(12).astype(np.float32) + 0.5) for _ in range(4)))))
    x = node("Clip", node("Clip", x, constant(np.float32(0)), constant(np.float32(6))), constant(np.float32(0)), constant(np.float32(3)))
    x = node("Reshape", node("Reshape", x, constant(np.array([1, 12, -1]))), constant(np.array([1, 14, 12, 14])))
    erf = node("Erf", node("Div", x, constant(np.float32(2**0.5))))
    x = node("Mul", node("Mul", x, node("Add", erf, constant(np.float32(1)))), constant(np.float32(0.5)))
    x = node("Flatten", node("ReduceMean", x, constant(np.array([2, 3]))))
    x = node("Add", node("MatMul", x, constant(rng.standard_normal((14, 10)).astype(np.float32))),
             constant(rng.standard_normal(10).astype(np.float32)))
    graph = onnx.helper.make_graph(nodes, "patterns", [onnx.helper.make_tensor_value_info("input", 1, [1, 1, 28, 28])],
                                   [onnx.helper.make_tensor_value_info(x, 1, [1, 10])], constants)
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=8), path)


def main():
    with tempfile.TemporaryDirectory() as temporary:
        patterns(pathlib.Path(temporary) / "patterns.onnx")
        compare([*sorted((ROOT / "zoo").glob("*.onnx")), pathlib.Path(temporary) / "patterns.onnx"])


def compare(sources):
    logging.disable(logging.WARNING)
    failed = 0
    rng = np.random.default_rng(1)
    blocks = rng.random((24, 1, 1, 7, 7), np.float32)  # pictures with smooth areas
    images = np.kron(blocks, np.ones((4, 4), np.float32)) * (rng.random((24, 1, 1, 28, 28), np.float32) * 0.2 + 0.8)
    count = 24 if "--full" in sys.argv else 6
    for source in sources:
        for activation in (quantization.QuantType.QUInt8, quantization.QuantType.QInt8):
            name = f"{source.stem} QDQ {activation.name}"
            with tempfile.TemporaryDirectory() as temporary:
                folder = pathlib.Path(temporary)
                quantise(source, folder / "int8.onnx", images, activation)
                want = theirs(folder / "int8.onnx", images[:count])
                try:
                    got = {on: ours(folder / "int8.onnx", images[:count], on, folder) for on in ("reference", "cpu")}
                except RuntimeError as error:
                    failed += 1
                    print(f"FAIL {name}: {error}", flush=True)
                    continue
            sqnr = 10 * np.log10(np.square(want).sum() / max(np.square(want - got["cpu"]).sum(), 1e-20))
            same = np.mean(want.argmax(1) == got["cpu"].argmax(1))
            right = np.array_equal(got["reference"], got["cpu"]) and sqnr > LEAST_SQNR_DB
            failed += not right
            print(f"{'PASS' if right else 'FAIL'} {name}: SQNR {min(sqnr, 200):.1f} dB, {100 * same:.0f} % of labels the same, "
                  f"{100 * np.mean(want == got['cpu']):.0f} % of outputs equal", flush=True)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
