#!/usr/bin/env python3
"""Trains the zoo's two Fashion-MNIST nets from nothing and writes them as ONNX.

    zoo/train.py [--data FOLDER] [--out FOLDER] [--epochs N] [--threads N] [resnet8] [mobilenetv2]

The input is 1x1x28x28 in [0,1] (pixel value / 255), the output ten logits. Needs torch, onnx and
numpy (Debian: python3-torch python3-onnx, and dataset-fashion-mnist for the pictures). No GPU.
The seeds are fixed, but another torch, processor or number of threads adds floats in another
order: expect the accuracy to repeat to about 0.3 points, not the file byte for byte.
zoo/accuracy.py measures the files themselves.
"""
import argparse
import pathlib
import time

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn

from fashion_mnist import read_split

BATCH = 128
SEED = 20240229
SILENT = 1e-6  # variance of a channel that is always zero


# ---- the nets: three kinds of part, which training and export both know ----

class Conv(nn.Sequential):
    """Convolution without bias, BatchNormalization, activation (nn.ReLU, nn.ReLU6 or None)."""

    def __init__(self, cin, cout, kernel, stride=1, groups=1, act=None):
        parts = [nn.Conv2d(cin, cout, kernel, stride, kernel // 2, groups=groups, bias=False),
                 nn.BatchNorm2d(cout)]
        super().__init__(*parts, *([act()] if act else []))
        nn.init.kaiming_normal_(self[0].weight, mode="fan_out", nonlinearity="relu")


class Residual(nn.Module):
    """act(body(x) + shortcut(x)); an empty shortcut is x itself."""

    def __init__(self, body, shortcut=None, act=None):
        super().__init__()
        self.body, self.shortcut, self.act = body, shortcut, act() if act else None

    def forward(self, x):
        y = self.body(x) + (self.shortcut(x) if self.shortcut else x)
        return self.act(y) if self.act else y


def head(channels):
    return [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 10)]


def resnet8():
    act, parts, cin = nn.ReLU, [Conv(1, 16, 3, act=nn.ReLU)], 16
    for cout, stride in ((16, 1), (32, 2), (64, 2)):
        body = nn.Sequential(Conv(cin, cout, 3, stride, act=act), Conv(cout, cout, 3))
        parts.append(Residual(body, Conv(cin, cout, 1, stride) if stride > 1 else None, act))
        cin = cout
    return nn.Sequential(*parts, *head(cin))


def mobilenetv2():
    act, parts, cin = nn.ReLU6, [Conv(1, 16, 3, act=nn.ReLU6)], 16
    for expansion, cout, repeats, stride in ((1, 16, 1, 1), (4, 24, 3, 2), (4, 40, 3, 2)):
        for i in range(repeats):
            step, wide = stride if i == 0 else 1, cin * expansion
            body = [Conv(cin, wide, 1, act=act)] if expansion > 1 else []
            body += [Conv(wide, wide, 3, step, groups=wide, act=act), Conv(wide, cout, 1)]
            same = step == 1 and cin == cout
            parts.append(Residual(nn.Sequential(*body)) if same else nn.Sequential(*body))
            cin = cout
    return nn.Sequential(*parts, Conv(cin, 160, 1, act=act), *head(160))


# ---- training ----

def augmented(images):
    """Shifts each picture by up to two pixels and mirrors half of them."""
    n = len(images)
    padded = nn.functional.pad(images, (2, 2, 2, 2))
    rows = torch.arange(28) + torch.randint(0, 5, (n, 1))
    columns = torch.arange(28) + torch.randint(0, 5, (n, 1))
    mirror = torch.rand(n) < 0.5
    columns[mirror] = columns[mirror].flip(1)
    at = torch.arange(n)[:, None, None]
    return padded[at, 0, rows[:, :, None], columns[:, None, :]].unsqueeze(1)


def accuracy(net, images, labels):
    net.eval()
    with torch.no_grad():
        right = sum((net(x).argmax(1) == y).sum().item()
                    for x, y in zip(images.split(500), labels.split(500)))
    net.train()
    return right / len(labels)


def train(net, data, epochs, rate):
    images, labels, test_images, test_labels = data
    # Weight decay keeps the ranges narrow, and label smoothing the logits: both are for int8.
    sgd = torch.optim.SGD(net.parameters(), lr=rate, momentum=0.9, nesterov=True, weight_decay=5e-4)
    steps = len(images) // BATCH
    cycle = torch.optim.lr_scheduler.OneCycleLR(sgd, rate, epochs * steps, pct_start=0.25)
    loss_of = nn.CrossEntropyLoss(label_smoothing=0.05)
    for epoch in range(epochs):
        start, total = time.time(), 0.0
        for pick in torch.randperm(len(images))[:steps * BATCH].split(BATCH):
            loss = loss_of(net(augmented(images[pick])), labels[pick])
            sgd.zero_grad()
            loss.backward()
            sgd.step()
            cycle.step()
            total += loss.item()
        print(f"  epoch {epoch + 1}/{epochs}: loss {total / steps:.4f}, "
              f"test {100 * accuracy(net, test_images, test_labels):.2f} %, "
              f"{time.time() - start:.0f} s", flush=True)


# ---- export: one ONNX node for each part ----

class Onnx:
    def __init__(self):
        self.nodes, self.inits = [], {}

    def const(self, name, value):
        self.inits.setdefault(name, numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def node(self, kind, inputs, name, **attributes):
        output = name if name == "logits" else name + ".out"
        self.nodes.append(helper.make_node(kind, inputs, [output], name=name, **attributes))
        return output

    def activation(self, act, x, name):
        if isinstance(act, nn.ReLU6):
            limits = [self.const("zero", np.float32(0)), self.const("six", np.float32(6))]
            return self.node("Clip", [x, *limits], name + ".clip")
        return self.node("Relu", [x], name + ".relu")

    def add(self, part, x, name):
        """Adds what `part` computes of the value x and returns the name of the result."""
        if isinstance(part, nn.Sequential):
            for i, inner in enumerate(part):
                x = self.add(inner, x, f"{name}.{i}" if name else f"block{i}")
            return x
        if isinstance(part, Residual):
            y = self.add(part.body, x, name + ".body")
            z = self.add(part.shortcut, x, name + ".shortcut") if part.shortcut else x
            y = self.node("Add", [y, z], name + ".add")
            return self.activation(part.act, y, name) if part.act else y
        if isinstance(part, nn.Conv2d):
            pad = list(part.padding)
            return self.node("Conv", [x, self.const(name + ".weight", part.weight.numpy())], name,
                             kernel_shape=list(part.kernel_size), strides=list(part.stride),
                             pads=pad + pad, group=part.groups)
        if isinstance(part, nn.BatchNorm2d):
            # A channel that fell silent in training has no variance left. As 1 / sqrt(epsilon) that
            # would blow up weights that never see anything but zero; 1 gives the same result.
            var = part.running_var.where(part.running_var > SILENT, torch.tensor(1.0))
            values = {"scale": part.weight, "bias": part.bias,
                      "mean": part.running_mean, "var": var}
            inputs = [self.const(f"{name}.{key}", v.numpy()) for key, v in values.items()]
            return self.node("BatchNormalization", [x, *inputs], name, epsilon=part.eps)
        if isinstance(part, (nn.ReLU, nn.ReLU6)):
            return self.activation(part, x, name)
        if isinstance(part, nn.AdaptiveAvgPool2d):
            return self.node("GlobalAveragePool", [x], "pool")
        if isinstance(part, nn.Flatten):
            return self.node("Flatten", [x], "flatten", axis=1)
        if isinstance(part, nn.Linear):
            inputs = [x, self.const("fc.weight", part.weight.numpy()),
                      self.const("fc.bias", part.bias.numpy())]
            return self.node("Gemm", inputs, "logits", transB=1)
        raise TypeError(f"no export for {type(part).__name__}")


def macs_of(net):
    """Multiply-accumulates of one picture: Conv and Gemm."""
    total = 0

    def count(part, _, y):
        nonlocal total
        total += part.weight[0].numel() * y.numel()

    hooks = [p.register_forward_hook(count) for p in net.modules()
             if isinstance(p, (nn.Conv2d, nn.Linear))]
    net(torch.zeros(1, 1, 28, 28))
    for hook in hooks:
        hook.remove()
    return total


def export(net, name, path):
    net.eval()
    out = Onnx()
    with torch.no_grad():
        out.add(net, "input", "")
        macs = macs_of(net)
    graph = helper.make_graph(
        out.nodes, name,
        [helper.make_tensor_value_info("input", TensorProto.FLOAT, [1, 1, 28, 28])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, 10])],
        list(out.inits.values()))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8,
                              producer_name="longshore zoo/train.py")
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, str(path))
    weights = sum(p.numel() for p in net.parameters())
    print(f"{path}: {path.stat().st_size:,} bytes, {weights:,} weights, {macs:,} MACs, "
          f"{len(out.nodes)} nodes")


# name: (net, epochs, highest learning rate)
NETS = {"resnet8": (resnet8, 14, 0.2), "mobilenetv2": (mobilenetv2, 12, 0.2)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("net", nargs="*", help="resnet8, mobilenetv2 (default: both)")
    parser.add_argument("--data", default="/usr/share/datasets/fashion-mnist")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).parent)
    parser.add_argument("--epochs", type=int, help="instead of each net's own number")
    parser.add_argument("--threads", type=int, default=0, help="0: as many as torch likes")
    args = parser.parse_args()
    if args.threads:
        torch.set_num_threads(args.threads)
    data = []
    for split in ("train", "t10k"):
        images, labels = read_split(args.data, split)
        data += [torch.from_numpy(images.copy()).float().div(255).unsqueeze(1),
                 torch.from_numpy(labels.astype(np.int64))]
    for name in args.net or NETS:
        if name not in NETS:
            parser.error(f"no net {name}: choose from {', '.join(NETS)}")
        build, epochs, rate = NETS[name]
        torch.manual_seed(SEED)
        net = build().to(memory_format=torch.channels_last)  # up to three times the speed
        print(f"{name}: {macs_of(net):,} MACs", flush=True)
        train(net, data, args.epochs or epochs, rate)
        print(f"{name}: float top-1 {100 * accuracy(net, *data[2:]):.2f} % of "
              f"{len(data[3]):,} test pictures")
        export(net, f"{name}_fashion", args.out / f"{name}_fashion.onnx")


if __name__ == "__main__":
    main()
