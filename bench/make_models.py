#!/usr/bin/env python3
"""Write the benchmark models: real architectures, random weights, one ONNX file each (opset 17).

    make_models.py FOLDER [NAME...]

Only the standard library is used. NAME.onnx is float32; NAME.int8.onnx is the same network with
QuantizeLinear/DequantizeLinear pairs (uint8 activations, int8 per-channel weights, int32 bias).
Weights are scaled so that activations keep a variance near one: outputs can be compared. No two are equal, or an
optimiser could rightly merge layers that a real network has apart.
"""
import array, os, random, struct, sys

FLOAT, U8, S8, I32, I64 = 1, 2, 3, 6, 7


def varint(n):
    n &= (1 << 64) - 1
    out = bytearray()
    while True:
        low, n = n & 127, n >> 7
        out.append(low | 128 if n else low)
        if not n:
            return bytes(out)


def tag(field, wire): return varint(field << 3 | wire)
def msg(field, body):
    body = body.encode() if isinstance(body, str) else body
    return tag(field, 2) + varint(len(body)) + body
def num(field, n): return tag(field, 0) + varint(n)
def flt(field, x): return tag(field, 5) + struct.pack('<f', x)


def attribute(name, v):
    out = msg(1, name)
    if isinstance(v, float): return out + flt(2, v) + num(20, 1)
    if isinstance(v, int): return out + num(3, v) + num(20, 2)
    if isinstance(v, str): return out + msg(4, v) + num(20, 3)
    return out + b''.join(num(8, x) for x in v) + num(20, 7)


def value_info(name, dims):
    shape = b''.join(msg(1, num(1, d)) for d in dims)
    return msg(1, name) + msg(2, msg(1, num(1, FLOAT) + msg(2, shape)))


random.seed(1)
GAUSS = array.array('f', [random.gauss(0, 1) for _ in range(65537)])
BYTES = bytes(random.choice([b for b in range(256) if b != 128]) for _ in range(65537))


def turned(data, turn):
    """The same numbers from another place on: 7919 and 65537 are prime, so places do not repeat soon."""
    at = turn * 7919 % len(data)
    return data[at:] + data[:at]


def gauss(n, scale, turn=0):
    raw = array.array('f', [x * scale for x in turned(GAUSS, turn)]).tobytes()
    return (raw * (n * 4 // len(raw) + 1))[:n * 4]


class Net:
    def __init__(self, int8=False):
        self.nodes, self.inits, self.count, self.macs, self.int8 = [], [], 0, 0, int8

    def name(self, p): self.count += 1; return f'{p}{self.count}'

    def op(self, kind, ins, **attrs):
        out = self.name('t')
        self.nodes.append(b''.join(msg(1, i) for i in ins) + msg(2, out) + msg(3, self.name('n')) +
                          msg(4, kind) + b''.join(msg(5, attribute(k, v)) for k, v in attrs.items()))
        return out

    def init(self, dims, dtype, raw):
        name = self.name('w')
        self.inits.append(b''.join(num(1, d) for d in dims) + num(2, dtype) + msg(8, name) + msg(9, raw))
        return name

    def weight(self, dims, scale):
        n = 1
        for d in dims: n *= d
        return self.init(dims, FLOAT, gauss(n, scale, len(self.inits)))

    def scalar(self, x): return self.init([], FLOAT, struct.pack('<f', x))
    def ints(self, v): return self.init([len(v)], I64, struct.pack(f'<{len(v)}q', *v))

    def qdq(self, x, scale=0.05, positive=False):
        if not self.int8: return x
        s, z = self.scalar(scale), self.init([], U8, bytes([0 if positive else 128]))
        return self.op('DequantizeLinear', [self.op('QuantizeLinear', [x, s, z]), s, z])

    def q_weight(self, dims, scale, axis):
        n = 1
        for d in dims: n *= d
        q = self.init(dims, S8, (turned(BYTES, len(self.inits)) * (n // len(BYTES) + 1))[:n])
        c = dims[axis]
        s = self.init([c], FLOAT, struct.pack('<f', scale / 74) * c)   # uniform bytes: sigma 74
        return self.op('DequantizeLinear', [q, s, self.init([c], S8, bytes(c))], axis=axis)

    def conv(self, x, oc, k, stride=1, act='relu', groups=1, add=None, pad=None):
        name, c, h, w = x
        p = k // 2 if pad is None else pad
        oh, ow = (h + 2 * p - k) // stride + 1, (w + 2 * p - k) // stride + 1
        fan = c // groups * k * k
        self.macs += oc * fan * oh * ow
        scale = (2.0 / fan) ** 0.5 * (0.5 if add is not None else 1.0)
        if self.int8:
            wt = self.q_weight([oc, c // groups, k, k], scale, 0)
            s = self.init([oc], FLOAT, struct.pack('<f', scale / 74 * 0.05) * oc)
            b = self.op('DequantizeLinear', [self.init([oc], I32, struct.pack('<i', 3) * oc), s], axis=0)
        else:
            wt, b = self.weight([oc, c // groups, k, k], scale), self.weight([oc], 0.01)
        y = self.op('Conv', [name, wt, b], kernel_shape=[k, k], strides=[stride, stride],
                    pads=[p, p, p, p], group=groups)
        if add is not None: y = self.op('Add', [self.qdq(y), add[0]])
        if act == 'relu': y = self.op('Relu', [y])
        elif act == 'relu6' and not self.int8: y = self.op('Clip', [y, self.scalar(0.0), self.scalar(6.0)])
        elif act == 'silu':
            y = self.qdq(y)
            y = self.op('Mul', [y, self.qdq(self.op('Sigmoid', [y]), 1 / 255., True)])
        elif act == 'hswish': y = self.op('HardSwish', [self.qdq(y)])
        return (self.qdq(y, 0.05, act in ('relu', 'relu6')), oc, oh, ow)

    def pool_fc(self, x, classes):
        y = self.op('Flatten', [self.qdq(self.op('GlobalAveragePool', [x[0]]), 0.05, True)])
        self.macs += x[1] * classes
        if self.int8: return self.op('Gemm', [y, self.q_weight([classes, x[1]], 0.02, 0)], transB=1)
        return self.op('Gemm', [y, self.weight([classes, x[1]], 0.02), self.weight([classes], 0.02)], transB=1)

    def save(self, path, dims, outs):
        g = (b''.join(msg(1, n) for n in self.nodes) + msg(2, 'g') + b''.join(msg(5, i) for i in self.inits) +
             msg(11, value_info('x', dims)) + b''.join(msg(12, value_info(o, d)) for o, d in outs.items()))
        with open(path, 'wb') as f: f.write(num(1, 8) + msg(7, g) + msg(8, msg(1, '') + num(2, 17)))
        print(f'{path}  {self.macs / 1e9:.3f} GMAC')


def resnet50(n):
    x = n.conv((n.qdq('x'), 3, 224, 224), 64, 7, 2)
    x = (n.op('MaxPool', [x[0]], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]), 64, 56, 56)
    if n.int8: x = (n.qdq(x[0], 0.05, True),) + x[1:]
    for i, (blocks, c) in enumerate([(3, 64), (4, 128), (6, 256), (3, 512)]):
        for j in range(blocks):
            stride = 2 if j == 0 and i > 0 else 1
            skip = n.conv(x, c * 4, 1, stride, act=None) if j == 0 else x
            x = n.conv(n.conv(n.conv(x, c, 1), c, 3, stride), c * 4, 1, add=skip)
    return [1, 3, 224, 224], {n.pool_fc(x, 1000): [1, 1000]}


def resnet50_v2(n):
    """The one with the normalisation and ReLU before each block: behind an Add that is read twice, they stay layers of their own."""
    def normalised(x):
        numbers = [n.weight([x[1]], 0.1), n.weight([x[1]], 0.01), n.weight([x[1]], 0.01), n.init([x[1]], FLOAT, struct.pack('<f', 1.0) * x[1])]
        return (n.op('Relu', [n.op('BatchNormalization', [x[0], *numbers])]),) + x[1:]
    x = n.conv(('x', 3, 224, 224), 64, 7, 2)
    x = (n.op('MaxPool', [x[0]], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]), 64, 56, 56)
    for i, (blocks, c) in enumerate([(3, 64), (4, 128), (6, 256), (3, 512)]):
        for j in range(blocks):
            stride = 2 if j == 0 and i > 0 else 1
            y = normalised(x)
            skip = n.conv(y, c * 4, 1, stride, act=None) if j == 0 else x
            x = n.conv(n.conv(n.conv(y, c, 1), c, 3, stride), c * 4, 1, act=None, add=skip)
    return [1, 3, 224, 224], {n.pool_fc(normalised(x), 1000): [1, 1000]}


def mobilenet_v2(n):
    x = n.conv((n.qdq('x'), 3, 224, 224), 32, 3, 2, 'relu6')
    for t, c, blocks, stride in [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]:
        for j in range(blocks):
            y, hidden = x, x[1] * t
            if t > 1: y = n.conv(y, hidden, 1, 1, 'relu6')
            y = n.conv(y, hidden, 3, stride if j == 0 else 1, 'relu6', groups=hidden)
            x = n.conv(y, c, 1, 1, None, add=x if j else None)
    return [1, 3, 224, 224], {n.pool_fc(n.conv(x, 1280, 1, 1, 'relu6'), 1000): [1, 1000]}


def mobilenet_v3(n):
    x = n.conv((n.qdq('x'), 3, 224, 224), 16, 3, 2, 'hswish')
    for k, hidden, c, se, act, stride in [
            (3, 16, 16, 0, 'relu', 1), (3, 64, 24, 0, 'relu', 2), (3, 72, 24, 0, 'relu', 1), (5, 72, 40, 1, 'relu', 2),
            (5, 120, 40, 1, 'relu', 1), (5, 120, 40, 1, 'relu', 1), (3, 240, 80, 0, 'hswish', 2), (3, 200, 80, 0, 'hswish', 1),
            (3, 184, 80, 0, 'hswish', 1), (3, 184, 80, 0, 'hswish', 1), (3, 480, 112, 1, 'hswish', 1), (3, 672, 112, 1, 'hswish', 1),
            (5, 672, 160, 1, 'hswish', 2), (5, 960, 160, 1, 'hswish', 1), (5, 960, 160, 1, 'hswish', 1)]:
        y = n.conv(x, hidden, 1, 1, act) if hidden != x[1] else x
        y = n.conv(y, hidden, k, stride, act, groups=hidden)
        if se:
            s = (n.qdq(n.op('GlobalAveragePool', [y[0]])), hidden, 1, 1)
            s = n.conv(n.conv(s, (hidden // 4 + 7) // 8 * 8, 1, 1, 'relu'), hidden, 1, 1, None)
            g = n.qdq(n.op('HardSigmoid', [s[0]], alpha=1 / 6., beta=0.5), 1 / 255., True)
            y = (n.qdq(n.op('Mul', [y[0], g])),) + y[1:]
        x = n.conv(y, c, 1, 1, None, add=x if stride == 1 and c == x[1] else None)
    return [1, 3, 224, 224], {n.pool_fc(n.conv(x, 960, 1, 1, 'hswish'), 1000): [1, 1000]}


def joined(n, l): return (n.qdq(n.op('Concat', [t[0] for t in l], axis=1)), sum(t[1] for t in l), l[0][2], l[0][3])


def upsampled(n, x):
    s = n.init([4], FLOAT, struct.pack('<4f', 1, 1, 2, 2))
    return (n.op('Resize', [x[0], '', s], mode='nearest', coordinate_transformation_mode='asymmetric', nearest_mode='floor'),
            x[1], x[2] * 2, x[3] * 2)


def pooled(n, t): return (n.op('MaxPool', [t[0]], kernel_shape=[5, 5], strides=[1, 1], pads=[2, 2, 2, 2]),) + t[1:]


def csp_block(n, x, c, blocks, act, skip=True):
    a = n.conv(x, c // 2, 1, act=act)
    for _ in range(blocks):
        y = n.conv(n.conv(a, c // 2, 1, act=act), c // 2, 3, act=act)
        a = (n.qdq(n.op('Add', [a[0], y[0]])),) + a[1:] if skip else y
    return n.conv(joined(n, [a, n.conv(x, c // 2, 1, act=act)]), c, 1, act=act)


def yolov5s(n, size=640, act='silu', width=1, depth=1):
    """yolov5s; with half the width yolov5n; with one and a half of it, and twice the depth, yolov5m."""
    A = act
    def w(channels): return int(channels * width)
    def cat(l): return joined(n, l)
    def up(x): return upsampled(n, x)
    def pool(t): return pooled(n, t)
    def c3(x, c, blocks, skip=True): return csp_block(n, x, c, blocks, A, skip)
    x = n.conv((n.qdq('x'), 3, size, size), w(32), 6, 2, A, pad=2)
    x = c3(n.conv(x, w(64), 3, 2, A), w(64), 1 * depth)
    x = p3 = c3(n.conv(x, w(128), 3, 2, A), w(128), 2 * depth)
    x = p4 = c3(n.conv(x, w(256), 3, 2, A), w(256), 3 * depth)
    x = c3(n.conv(x, w(512), 3, 2, A), w(512), 1 * depth)
    y = n.conv(x, w(256), 1, act=A); a = pool(y); b = pool(a); c = pool(b)
    x = n.conv(cat([y, a, b, c]), w(512), 1, act=A)
    h1 = n.conv(x, w(256), 1, act=A)
    h2 = n.conv(c3(cat([up(h1), p4]), w(256), depth, False), w(128), 1, act=A)
    o3 = c3(cat([up(h2), p3]), w(128), depth, False)
    o4 = c3(cat([n.conv(o3, w(128), 3, 2, A), h2]), w(256), depth, False)
    o5 = c3(cat([n.conv(o4, w(256), 3, 2, A), h1]), w(512), depth, False)
    return [1, 3, size, size], {n.conv(o, 255, 1, act=None)[0]: [1, 255, o[2], o[3]] for o in (o3, o4, o5)}


def yolov8(n, size=640, width=1, depth=1, most=512):
    """yolov8s up to what the boxes are decoded from; with half the width yolov8n, whose depths are the same; with one and a half of it, twice the
    depth and 576 channels at most, yolov8m."""
    def w(channels): return min(int(channels * width), most)
    def cat(l): return joined(n, l)
    def up(x): return upsampled(n, x)
    def pool(t): return pooled(n, t)
    def part(x, first, last):
        return (n.op('Slice', [x[0], n.ints([first]), n.ints([last]), n.ints([1])]), last - first) + x[2:]
    def c2f(x, c, blocks, skip=True):
        y, half = n.conv(x, c, 1, act='silu'), c // 2
        parts = [part(y, 0, half), part(y, half, c)]
        for _ in range(blocks):
            z = n.conv(n.conv(parts[-1], half, 3, act='silu'), half, 3, act='silu')
            parts.append((n.qdq(n.op('Add', [parts[-1][0], z[0]])),) + z[1:] if skip else z)
        return n.conv(cat(parts), c, 1, act='silu')
    x = n.conv(n.conv((n.qdq('x'), 3, size, size), w(32), 3, 2, 'silu'), w(64), 3, 2, 'silu')
    x = n.conv(c2f(x, w(64), depth), w(128), 3, 2, 'silu')
    p3 = c2f(x, w(128), 2 * depth)
    p4 = c2f(n.conv(p3, w(256), 3, 2, 'silu'), w(256), 2 * depth)
    x = c2f(n.conv(p4, w(512), 3, 2, 'silu'), w(512), depth)
    y = n.conv(x, w(256), 1, act='silu'); a = pool(y); b = pool(a); c = pool(b)
    p5 = n.conv(cat([y, a, b, c]), w(512), 1, act='silu')
    h4 = c2f(cat([up(p5), p4]), w(256), depth, False)
    o3 = c2f(cat([up(h4), p3]), w(128), depth, False)
    o4 = c2f(cat([n.conv(o3, w(128), 3, 2, 'silu'), h4]), w(256), depth, False)
    o5 = c2f(cat([n.conv(o4, w(256), 3, 2, 'silu'), p5]), w(512), depth, False)
    outs = {}
    for o in (o3, o4, o5):
        box = n.conv(n.conv(n.conv(o, 64, 3, act='silu'), 64, 3, act='silu'), 64, 1, act=None)
        kinds = n.conv(n.conv(o, max(w(128), 80), 3, act='silu'), max(w(128), 80), 3, act='silu')
        kinds = n.op('Sigmoid', [n.conv(kinds, 80, 1, act=None)[0]])
        outs |= {box[0]: [1, 64, o[2], o[3]], kinds: [1, 80, o[2], o[3]]}
    return [1, 3, size, size], outs


def yolox_s(n, size=640):
    """yolox_s up to what the boxes are decoded from, with its Focus as the convolution of 6 x 6 that it is and its large pools as chains of small ones."""
    A = 'silu'
    def cat(l): return joined(n, l)
    def up(x): return upsampled(n, x)
    def pool(t): return pooled(n, t)
    def csp(x, c, blocks, skip=True): return csp_block(n, x, c, blocks, A, skip)
    x = n.conv((n.qdq('x'), 3, size, size), 32, 6, 2, A, pad=2)
    x = csp(n.conv(x, 64, 3, 2, A), 64, 1)
    p3 = csp(n.conv(x, 128, 3, 2, A), 128, 3)
    p4 = csp(n.conv(p3, 256, 3, 2, A), 256, 3)
    y = n.conv(n.conv(p4, 512, 3, 2, A), 256, 1, act=A); a = pool(y); b = pool(a); c = pool(b)
    x = csp(n.conv(cat([y, a, b, c]), 512, 1, act=A), 512, 1, False)
    h1 = n.conv(x, 256, 1, act=A)
    h2 = n.conv(csp(cat([up(h1), p4]), 256, 1, False), 128, 1, act=A)
    o3 = csp(cat([up(h2), p3]), 128, 1, False)
    o4 = csp(cat([n.conv(o3, 128, 3, 2, A), h2]), 256, 1, False)
    o5 = csp(cat([n.conv(o4, 256, 3, 2, A), h1]), 512, 1, False)
    outs = {}
    for o in (o3, o4, o5):
        stem = n.conv(o, 128, 1, act=A)
        kinds, box = (n.conv(n.conv(stem, 128, 3, act=A), 128, 3, act=A) for _ in range(2))
        for y, channels, squashed in ((box, 4, False), (box, 1, True), (kinds, 80, True)):
            z = n.conv(y, channels, 1, act=None)[0]
            outs[n.op('Sigmoid', [z]) if squashed else z] = [1, channels, o[2], o[3]]
    return [1, 3, size, size], outs


def bert(n, seq=128, hidden=768, layers=12, heads=12):
    x, d = 'x', hidden // heads
    def lin(x, i, o):
        n.macs += seq * i * o
        w = n.q_weight([i, o], 0.02, 1) if n.int8 else n.weight([i, o], 0.02)
        return n.op('Add', [n.qdq(n.op('MatMul', [n.qdq(x), w])), n.weight([o], 0.01)])
    def split(x, perm): return n.op('Transpose', [n.op('Reshape', [x, n.ints([1, seq, heads, d])])], perm=perm)
    def ln(x):
        one = n.init([hidden], FLOAT, struct.pack('<f', 1.0) * hidden)
        return n.op('LayerNormalization', [x, one, n.weight([hidden], 0.01)], axis=-1, epsilon=1e-12)
    for _ in range(layers):
        q, k, v = split(lin(x, hidden, hidden), [0, 2, 1, 3]), split(lin(x, hidden, hidden), [0, 2, 3, 1]), split(lin(x, hidden, hidden), [0, 2, 1, 3])
        a = n.op('Softmax', [n.op('Div', [n.op('MatMul', [q, k]), n.scalar(d ** 0.5)])], axis=-1)
        n.macs += 2 * seq * seq * hidden
        c = n.op('Reshape', [n.op('Transpose', [n.op('MatMul', [a, v])], perm=[0, 2, 1, 3]), n.ints([1, seq, hidden])])
        x = ln(n.op('Add', [lin(c, hidden, hidden), x]))
        h = lin(x, hidden, 4 * hidden)
        e = n.op('Erf', [n.op('Div', [h, n.scalar(2 ** 0.5)])])
        h = n.op('Mul', [n.op('Mul', [h, n.op('Add', [e, n.scalar(1.0)])]), n.scalar(0.5)])
        x = ln(n.op('Add', [lin(h, 4 * hidden, hidden), x]))
    return [1, seq, hidden], {x: [1, seq, hidden]}


def vit_tiny(n):
    y = n.conv((n.qdq('x'), 3, 224, 224), 192, 16, 16, None, pad=0)
    x = n.op('Transpose', [n.op('Reshape', [y[0], n.ints([1, 192, 196])])], perm=[0, 2, 1])
    seq, hidden, heads, d = 196, 192, 3, 64
    def lin(x, i, o):
        n.macs += seq * i * o
        w = n.q_weight([i, o], 0.04, 1) if n.int8 else n.weight([i, o], 0.04)
        return n.op('Add', [n.qdq(n.op('MatMul', [n.qdq(x), w])), n.weight([o], 0.01)])
    def split(x, perm): return n.op('Transpose', [n.op('Reshape', [x, n.ints([1, seq, heads, d])])], perm=perm)
    def ln(x):
        one = n.init([hidden], FLOAT, struct.pack('<f', 1.0) * hidden)
        return n.op('LayerNormalization', [x, one, n.weight([hidden], 0.01)], axis=-1, epsilon=1e-6)
    for _ in range(12):
        z = ln(x)
        q, k, v = split(lin(z, hidden, hidden), [0, 2, 1, 3]), split(lin(z, hidden, hidden), [0, 2, 3, 1]), split(lin(z, hidden, hidden), [0, 2, 1, 3])
        a = n.op('Softmax', [n.op('Mul', [n.op('MatMul', [q, k]), n.scalar(0.125)])], axis=-1)
        n.macs += 2 * seq * seq * hidden
        c = n.op('Reshape', [n.op('Transpose', [n.op('MatMul', [a, v])], perm=[0, 2, 1, 3]), n.ints([1, seq, hidden])])
        x = n.op('Add', [lin(c, hidden, hidden), x])
        h = lin(ln(x), hidden, 4 * hidden)
        e = n.op('Erf', [n.op('Div', [h, n.scalar(2 ** 0.5)])])
        h = n.op('Mul', [n.op('Mul', [h, n.op('Add', [e, n.scalar(1.0)])]), n.scalar(0.5)])
        x = n.op('Add', [lin(h, 4 * hidden, hidden), x])
    x = n.op('ReduceMean', [ln(x)], axes=[1], keepdims=0)
    n.macs += hidden * 1000
    return [1, 3, 224, 224], {n.op('Gemm', [x, n.weight([hidden, 1000], 0.05), n.weight([1000], 0.02)]): [1, 1000]}


MODELS = {'resnet50': resnet50, 'mobilenet_v2': mobilenet_v2, 'mobilenet_v3': mobilenet_v3,
          'yolov5s': yolov5s, 'vit_tiny': vit_tiny, 'bert_base_128': bert}

if __name__ == '__main__':
    folder, wanted = sys.argv[1], sys.argv[2:] or list(MODELS)
    os.makedirs(folder, exist_ok=True)
    for name in wanted:
        for int8 in (False, True):
            net = Net(int8)
            dims, outs = MODELS[name](net)
            net.save(os.path.join(folder, name + ('.int8' if int8 else '') + '.onnx'), dims, outs)
