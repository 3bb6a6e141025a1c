#!/usr/bin/env python3
"""Top-1 of the zoo's nets on the 10,000 Fashion-MNIST test pictures, with ONNX Runtime.

    "$(script/oracle_env)" zoo/accuracy.py [--data FOLDER] [--calibrate N] [FILE...]

Each file is measured as it is, and after ONNX Runtime's static int8 quantisation (QDQ, per-channel
int8 weights, per-tensor int8 activations, ranges by MinMax) calibrated on the first N pictures of
the training set. The second number is a yardstick for our own quantiser.
"""
import argparse
import logging
import pathlib
import tempfile

import numpy as np
import onnxruntime
from onnxruntime import quantization
from onnxruntime.quantization.shape_inference import quant_pre_process

from fashion_mnist import read_split


class Pictures(quantization.CalibrationDataReader):
    def __init__(self, images):
        self.left = iter(images)

    def get_next(self):
        image = next(self.left, None)
        return None if image is None else {"input": image}


def quantised(path, images, folder):
    fused, out = folder / "fused.onnx", folder / "int8.onnx"
    quant_pre_process(str(path), str(fused), skip_symbolic_shape=True)  # folds BatchNormalization
    quantization.quantize_static(
        str(fused), str(out), Pictures(images), quant_format=quantization.QuantFormat.QDQ,
        per_channel=True, calibrate_method=quantization.CalibrationMethod.MinMax,
        activation_type=quantization.QuantType.QInt8, weight_type=quantization.QuantType.QInt8)
    return out


def logits(path, images):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return np.concatenate([session.run(["logits"], {"input": image})[0] for image in images])


def main():
    here = pathlib.Path(__file__).parent
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="*", type=pathlib.Path)
    parser.add_argument("--data", default="/usr/share/datasets/fashion-mnist")
    parser.add_argument("--calibrate", type=int, default=300, metavar="N")
    args = parser.parse_args()
    logging.disable(logging.WARNING)
    as_input = lambda images: (images.astype(np.float32) / 255)[:, None, None]  # N x [1,1,28,28]
    images, labels = read_split(args.data, "t10k")
    images = as_input(images)
    calibration = as_input(read_split(args.data, "train")[0][:args.calibrate])
    for path in args.file or sorted(here.glob("*.onnx")):
        with tempfile.TemporaryDirectory() as folder:
            plain = logits(path, images)
            int8 = logits(quantised(path, calibration, pathlib.Path(folder)), images)
        right = [100 * np.mean(x.argmax(1) == labels) for x in (plain, int8)]
        noise = np.square(plain - int8).sum()
        print(f"{path.name}: float {right[0]:.2f} %, int8 {right[1]:.2f} % "
              f"({right[1] - right[0]:+.2f} points, logits SQNR "
              f"{10 * np.log10(np.square(plain).sum() / noise):.1f} dB, "
              f"{100 * np.mean(plain.argmax(1) != int8.argmax(1)):.2f} % labels flip)")


if __name__ == "__main__":
    main()
