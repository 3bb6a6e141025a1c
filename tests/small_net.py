"""Small convolution nets as ONNX files, for scripts that build bundles."""
import numpy
from onnx import TensorProto, helper, numpy_helper


class Net:
    """Adds nodes one after another; the weights are seeded."""

    def __init__(self, seed, shape=(1, 3, 16, 16)):
        self.rng = numpy.random.default_rng(seed)
        self.nodes, self.constants, self.shape = [], [], shape

    def constant(self, name, array):
        self.constants.append(numpy_helper.from_array(array.astype(numpy.float32), name))
        return name

    def node(self, op, inputs, name, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [name], name=f"{name}_{op.lower()}", **attributes))
        return name

    def conv(self, x, name, channels_in, channels_out, kernel=3, stride=1, group=1, relu=True):
        fan_in = channels_in // group * kernel * kernel
        w = self.constant(f"{name}_w", self.rng.standard_normal((channels_out, channels_in // group, kernel, kernel)) * (2 / fan_in) ** 0.5)
        b = self.constant(f"{name}_b", self.rng.standard_normal(channels_out) * 0.2)
        pad = kernel // 2
        y = self.node("Conv", [x, w, b], name, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4, group=group)
        return self.node("Relu", [y], f"{name}_r") if relu else y

    def dense(self, x, name, inputs, outputs):
        w = self.constant(f"{name}_w", self.rng.standard_normal((outputs, inputs)) * (2 / inputs) ** 0.5)
        return self.node("Gemm", [x, w, self.constant(f"{name}_b", self.rng.standard_normal(outputs) * 0.1)], name, transB=1)

    def save(self, path, output):
        graph = helper.make_graph(self.nodes, "small_net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, self.shape)],
                                  [helper.make_tensor_value_info(output, TensorProto.FLOAT, None)], self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        path.write_bytes(model.SerializeToString())
        return path


def many_forms(path, seed=1, size=16):
    """Convolution, depthwise, addition, multiplication, pools, a table, Concat, Resize, a dense layer."""
    net = Net(seed, (1, 3, size, size))
    a = net.conv("x", "stem", 3, 16)
    b = net.conv(a, "dw", 16, 16, group=16)
    b = net.conv(b, "pw", 16, 16, kernel=1, relu=False)
    c = net.node("Add", [a, b], "sum")
    d = net.node("MaxPool", [c], "pooled", kernel_shape=[2, 2], strides=[2, 2])
    e = net.conv(d, "wide", 16, 24, relu=False)
    f = net.node("Mul", [e, net.node("Sigmoid", [e], "gate")], "gated")
    net.constants.append(numpy_helper.from_array(numpy.array([1, 1, 2, 2], numpy.float32), "scales"))
    g = net.node("Resize", [f, "", "scales"], "up", mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    h = net.node("Concat", [g, c], "joined", axis=1)
    i = net.conv(h, "mix", 40, 20, stride=2)
    j = net.node("Flatten", [net.node("GlobalAveragePool", [i], "mean")], "flat")
    return net.save(path, net.dense(j, "scores", 20, 10))


def chain(path, seed=2, size=8):
    """Two convolutions."""
    net = Net(seed, (1, 3, size, size))
    return net.save(path, net.conv(net.conv("x", "one", 3, 8), "two", 8, 8))
