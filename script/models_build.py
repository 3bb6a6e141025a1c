#!/usr/bin/env python3
"""Builds ONNX models from real trained weights that packages carry in other formats.

    models_build.py FOLDER [efficientnet_lite0] [minilm_l6_v2] [esrgan_slim_x2]

FOLDER holds the weights (script/models brings them) and gets NAME.onnx. Needs numpy and onnx, no
training framework. The same versions of the two give the same bytes.
"""
import collections
import json
import pathlib
import pickle
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Graph:
    """A graph that grows node by node; equal constants are stored once."""

    def __init__(self, name):
        self.name, self.nodes, self.inits, self.known = name, [], [], {}

    def const(self, value, name=None):
        value = np.ascontiguousarray(value)
        key = name or (value.tobytes(), value.dtype.str, value.shape)
        if key not in self.known:
            self.known[key] = name or f"c{len(self.known)}"
            self.inits.append(numpy_helper.from_array(value, self.known[key]))
        return self.known[key]

    def i64(self, *values):
        return self.const(np.array(values, np.int64))

    def f32(self, value):
        return self.const(np.float32(value))

    def op(self, kind, *inputs, out=None, **attributes):
        name = f"{kind}_{len(self.nodes) + 1}"
        out = out or name.lower()
        self.nodes.append(helper.make_node(kind, list(inputs), [out], name=name, **attributes))
        return out

    def save(self, folder, inputs, outputs):
        """inputs and outputs: (name, element type, dimensions)."""
        ends = [[helper.make_tensor_value_info(*end) for end in side] for side in (inputs, outputs)]
        graph = helper.make_graph(self.nodes, self.name, *ends, self.inits)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8,
                                  producer_name="longshore script/models_build.py")
        onnx.checker.check_model(model)
        onnx.save(model, str(folder / f"{self.name}.onnx"))


def read_pth(path):
    """The tensors of torch.save's old format (before zip), without torch."""
    kinds = {"FloatStorage": np.float32, "LongStorage": np.int64, "HalfStorage": np.float16}
    storages = {}

    class Reader(pickle.Unpickler):
        def find_class(self, module, name):
            if name == "OrderedDict":
                return collections.OrderedDict
            if name == "_rebuild_tensor_v2":
                return lambda storage, offset, size, stride, *_: (storage, offset, size, stride)
            if module.startswith("torch") and name in kinds:
                return name
            raise pickle.UnpicklingError(f"unexpected {module}.{name}")

        def persistent_load(self, pid):
            storages[pid[2]] = kinds[pid[1]]
            return pid[2]

    with open(path, "rb") as file:
        for _ in range(3):  # magic number, protocol version, system
            Reader(file).load()
        tensors, keys, data = Reader(file).load(), Reader(file).load(), {}
        for key in keys:
            count = int.from_bytes(file.read(8), "little")
            data[key] = np.frombuffer(file.read(count * np.dtype(storages[key]).itemsize),
                                      storages[key])
    return {name: np.lib.stride_tricks.as_strided(
                data[storage][offset:], size, [s * data[storage].itemsize for s in stride]).copy()
            for name, (storage, offset, size, stride) in tensors.items()}


def read_safetensors(path):
    kinds = {"F32": np.float32, "I64": np.int64, "F16": np.float16}
    raw = path.read_bytes()
    start = 8 + int.from_bytes(raw[:8], "little")
    tensors = {}
    for name, about in json.loads(raw[8:start]).items():
        if name != "__metadata__":
            begin, end = about["data_offsets"]
            flat = np.frombuffer(raw[start + begin:start + end], kinds[about["dtype"]])
            tensors[name] = flat.reshape(about["shape"])
    return tensors


def efficientnet_lite0(folder):
    """ImageNet classifier: image Bx3x224x224, (pixel - 127) / 128, to 1000 logits."""
    w = read_pth(folder / "efficientnet_lite0.pth")
    g, size = Graph("efficientnet_lite0"), 224
    # The file keeps the layers in the order of the net.
    kernels = iter([k[:-7] for k, v in w.items() if k.endswith(".weight") and v.ndim == 4])
    norms = iter([k[:-13] for k in w if k.endswith(".running_mean")])

    def conv(x, kernel, stride, groups, act=True):
        nonlocal size
        layer, norm = next(kernels), next(norms)
        weight = w[layer + ".weight"]
        assert weight.shape[2] == kernel, layer
        out = -(-size // stride)
        pad = max((out - 1) * stride + kernel - size, 0)  # TensorFlow's SAME: the odd one is last
        x = g.op("Conv", x, g.const(weight, layer + ".weight"), kernel_shape=[kernel] * 2,
                 strides=[stride] * 2, group=groups,
                 pads=[pad // 2, pad // 2, pad - pad // 2, pad - pad // 2])
        values = [f"{norm}.{part}" for part in ("weight", "bias", "running_mean", "running_var")]
        x = g.op("BatchNormalization", x, *[g.const(w[v], v) for v in values], epsilon=1e-3)
        size = out
        return g.op("Clip", x, g.f32(0), g.f32(6)) if act else x

    x, cin = conv("image", 3, 2, 1), 32
    for repeats, kernel, stride, expansion, cout in (
            (1, 3, 1, 1, 16), (2, 3, 2, 6, 24), (2, 5, 2, 6, 40), (3, 3, 2, 6, 80),
            (3, 5, 1, 6, 112), (4, 5, 2, 6, 192), (1, 3, 1, 6, 320)):
        for i in range(repeats):
            step = stride if i == 0 else 1
            y = conv(x, 1, 1, 1) if expansion != 1 else x
            y = conv(y, kernel, step, cin * expansion)
            y = conv(y, 1, 1, 1, act=False)
            x = g.op("Add", y, x) if step == 1 and cin == cout else y
            cin = cout
    x = g.op("Flatten", g.op("GlobalAveragePool", conv(x, 1, 1, 1)), axis=1)
    fc = next(k[:-7] for k, v in w.items() if k.endswith(".weight") and v.ndim == 2)
    g.op("Gemm", x, g.const(w[fc + ".weight"], fc + ".weight"),
         g.const(w[fc + ".bias"], fc + ".bias"), transB=1, out="logits")
    assert next(kernels, None) is None and next(norms, None) is None
    g.save(folder, [("image", TensorProto.FLOAT, ["batch", 3, 224, 224])],
           [("logits", TensorProto.FLOAT, ["batch", 1000])])


def minilm_l6_v2(folder):
    """BERT of six layers: token ids to the hidden state and one unit vector for the sentence."""
    w = read_safetensors(folder / "minilm_l6_v2.safetensors")
    g = Graph("minilm_l6_v2")

    def dense(x, layer):
        x = g.op("MatMul", x, g.const(w[layer + ".weight"].T, layer + ".weight_t"))
        return g.op("Add", x, g.const(w[layer + ".bias"], layer + ".bias"))

    def norm(x, layer):
        return g.op("LayerNormalization", x, g.const(w[layer + ".weight"], layer + ".weight"),
                    g.const(w[layer + ".bias"], layer + ".bias"), axis=-1, epsilon=1e-12)

    def table(what):
        return g.const(w[f"embeddings.{what}_embeddings.weight"], f"{what}_embeddings")

    # Slice, not Gather by Range: ONNX Runtime 1.32's optimiser breaks the latter.
    length = g.op("Gather", g.op("Shape", "input_ids"), g.i64(1), axis=0)
    x = g.op("Add", g.op("Gather", table("word"), "input_ids"),
             g.op("Gather", table("token_type"), "token_type_ids"))
    x = g.op("Add", x, g.op("Slice", table("position"), g.i64(0), length, g.i64(0)))
    x = norm(x, "embeddings.LayerNorm")
    mask = g.op("Cast", "attention_mask", to=TensorProto.FLOAT)
    bias = g.op("Mul", g.op("Sub", g.f32(1), g.op("Unsqueeze", mask, g.i64(1, 2))), g.f32(-10000))
    for i in range(6):
        layer = f"encoder.layer.{i}."
        q, k, v = (
            g.op("Transpose",
                 g.op("Reshape", dense(x, f"{layer}attention.self.{part}"), g.i64(0, 0, 12, 32)),
                 perm=perm)
            for part, perm in (("query", [0, 2, 1, 3]), ("key", [0, 2, 3, 1]),
                               ("value", [0, 2, 1, 3])))
        a = g.op("Div", g.op("MatMul", q, k), g.f32(32 ** 0.5))
        a = g.op("MatMul", g.op("Softmax", g.op("Add", a, bias), axis=-1), v)
        a = g.op("Reshape", g.op("Transpose", a, perm=[0, 2, 1, 3]), g.i64(0, 0, 384))
        a = dense(a, layer + "attention.output.dense")
        x = norm(g.op("Add", a, x), layer + "attention.output.LayerNorm")
        y = dense(x, layer + "intermediate.dense")
        erf = g.op("Add", g.op("Erf", g.op("Div", y, g.f32(2 ** 0.5))), g.f32(1))
        y = dense(g.op("Mul", g.op("Mul", y, g.f32(0.5)), erf), layer + "output.dense")
        x = norm(g.op("Add", y, x), layer + "output.LayerNorm")
    x = g.op("Identity", x, out="last_hidden_state")
    weight = g.op("Unsqueeze", mask, g.i64(2))
    mean = g.op("Div", g.op("ReduceSum", g.op("Mul", x, weight), g.i64(1), keepdims=0),
                g.op("ReduceSum", weight, g.i64(1), keepdims=0))
    g.op("Div", mean, g.op("ReduceL2", mean, axes=[1], keepdims=1), out="embedding")
    g.save(folder,
           [(name, TensorProto.INT64, ["batch", "sequence"])
            for name in ("input_ids", "attention_mask", "token_type_ids")],
           [("last_hidden_state", TensorProto.FLOAT, ["batch", "sequence", 384]),
            ("embedding", TensorProto.FLOAT, ["batch", 384])])


def esrgan_slim_x2(folder):
    """Twice the resolution: image Bx3xHxW, 0..255, to Bx3x2Hx2W. From TensorFlow.js weights."""
    model = json.loads((folder / "esrgan_slim_x2.json").read_text())
    raw, at, w = (folder / "esrgan_slim_x2.bin").read_bytes(), 0, {}
    for entry in (entry for group in model["weightsManifest"] for entry in group["weights"]):
        assert entry["dtype"] == "float32" and "quantization" not in entry
        count = int(np.prod(entry["shape"]))
        w[entry["name"]] = np.frombuffer(raw, np.float32, count, at).reshape(entry["shape"])
        at += 4 * count
    g, made = Graph("esrgan_slim_x2"), {}
    for layer in model["modelTopology"]["model_config"]["config"]["layers"]:
        kind, config, name = layer["class_name"], layer["config"], layer["name"]
        inputs = [made[i[0]] for i in layer["inbound_nodes"][0]] if layer["inbound_nodes"] else []
        if kind == "InputLayer":
            out = "image"
        elif kind == "Conv2D":
            kernel = w[name + "/kernel"]
            assert config["strides"] == [1, 1]
            assert config["padding"] == "same" or kernel.shape[:2] == (1, 1)
            pads = [(kernel.shape[0] - 1) // 2, (kernel.shape[1] - 1) // 2] * 2
            inputs.append(g.const(kernel.transpose(3, 2, 0, 1), name + ".kernel"))
            if config["use_bias"]:
                inputs.append(g.const(w[name + "/bias"], name + ".bias"))
            out = g.op("Conv", *inputs, kernel_shape=list(kernel.shape[:2]), pads=pads)
        elif kind == "Activation":
            out = inputs[0]
        elif kind == "Concatenate":
            out = g.op("Concat", *inputs, axis=1)
        elif kind == "Add":
            out = g.op("Add", *inputs)
        elif kind == "UpSampling2D":
            assert config["interpolation"] == "nearest"
            scales = g.const(np.array([1, 1] + config["size"], np.float32))
            out = g.op("Resize", inputs[0], "", scales, mode="nearest", nearest_mode="floor",
                       coordinate_transformation_mode="asymmetric")
        else:
            sys.exit(f"models_build: unknown layer {kind}")
        act = config.get("activation", "linear")
        if act not in ("relu", "linear"):
            sys.exit(f"models_build: unknown activation {act}")
        made[name] = g.op("Relu", out) if act == "relu" else out
    g.op("Identity", made[name], out="upscaled")
    g.save(folder, [("image", TensorProto.FLOAT, ["batch", 3, "height", "width"])],
           [("upscaled", TensorProto.FLOAT, ["batch", 3, "height2", "width2"])])


BUILDERS = {f.__name__: f for f in (efficientnet_lite0, minilm_l6_v2, esrgan_slim_x2)}

if __name__ == "__main__":
    if len(sys.argv) < 2 or not set(sys.argv[2:]) <= set(BUILDERS):
        sys.exit(__doc__)
    for wanted in sys.argv[2:] or BUILDERS:
        BUILDERS[wanted](pathlib.Path(sys.argv[1]))
