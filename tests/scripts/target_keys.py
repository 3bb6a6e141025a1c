#!/usr/bin/env python3
"""Each key of a target file does something, or docs/targets.md says that it has no effect yet; it lists every fact, too.

A net with a layer of every form is built for three targets with each key changed in turn; the report and the instructions
must change for at least one of them, and for none where the chapter lists the key under "without effect".
"""
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from cli import LONGSHORE, ROOT, Checks

NET = """net (x: f32[1, 3, 32, 32]) {
  c = Conv(x, f32[32, 3, 3, 3]{0.1}, f32[32]{0.5}, pads=[1, 1, 1, 1], strides=[2, 2])
  a = Relu(c)
  d = Conv(a, f32[32, 1, 3, 3]{0.2}, pads=[1, 1, 1, 1], group=32)
  s = Sigmoid(d)
  m = Mul(d, s)
  r = Add(m, a)
  q = Mul(r, a)
  h = MaxPool(q, kernel_shape=[2, 2], strides=[2, 2])
  v = AveragePool(h, kernel_shape=[2, 2], strides=[1, 1])
  w = Conv(v, f32[64, 32, 3, 3]{0.01}, pads=[1, 1, 1, 1])
  t = Concat(w, v, axis=1)
  u = Resize(t, _, f32[4]{1, 1, 2, 2}, mode="linear")
  b = Pad(u, i64[8]{0, 0, 1, 1, 0, 0, 1, 1})
  z = Softmax(b, axis=1)
  k = Softmax(z, axis=3)
  p = GlobalAveragePool(k)
  f = Flatten(p)
  n = Gemm(f, f32[96, 512]{0.3}, f32[512]{0.1})
  y = LayerNormalization(n, f32[512]{0.5}, f32[512]{0.1})
  return y
}
"""
WIDE = """wide (x: f32[1, 4, 48, 64]) {
  c = Conv(x, f32[8, 4, 3, 3]{0.1}, pads=[1, 1, 1, 1])
  t = Transpose(c, perm=[0, 1, 3, 2])
  m = MatMul(c, t)
  y = Conv(m, f32[16, 8, 3, 3]{0.1}, pads=[1, 1, 1, 1])
  return y
}
"""
LARGE = """large (x: f32[1, 64, 40, 40]) {
  c = Conv(x, f32[64, 64, 3, 3]{0.1}, pads=[1, 1, 1, 1])
  y = Conv(c, f32[64, 64, 3, 3]{0.1}, pads=[1, 1, 1, 1])
  return y
}
"""
# The last step runs on the CPU between two of the NPU: a Softmax along the columns is on no NPU.
TARGETS = ("shore-1", "rk3588-like", "ethos-u55-256-like", "nvdla-large-like", "rk3588-3cores-like")
# What has no effect on NET: by the beginning of the key's name, another net and its precision.
OTHERS = {"i16_": (WIDE, "int16"), "shared_loads": (LARGE, "int8")}
NAMES = {"npu.mac.dataflow": ["weight_stationary", "output_stationary", "input_stationary", "block", "micro_block"]}

page = (ROOT / "docs/targets.md").read_text()
table = re.findall(r"^\| `(npu\.[\w.]+)` \| ([^|]*) \|", page, re.M)
section = re.search(r"^## Without effect\n(.*?)(?=^## |\Z)", page, re.M | re.S)
without = set(re.findall(r"`(npu\.[\w.]+)`", section[1])) if section else set()


def value_of(target, key):
    """As `longshore targets NAME` prints it."""
    text = subprocess.run([LONGSHORE, "targets", target], capture_output=True, text=True, cwd=ROOT).stdout
    return re.search(rf"^  {re.escape(key.removeprefix('npu.'))}\s+(\S+)", text, re.M)[1]


def others(key, value, limits):
    """Other values for it that are allowed."""
    if key in NAMES:
        return [f'"{name}"' for name in NAMES[key] if name != value]
    if value in ("true", "false"):
        return ["false" if value == "true" else "true"]
    low, high = (float(x) for x in re.match(r"(\S+) to ([^\s,]+)", limits).groups())
    number, found = float(value), []
    for other in (number / 2, number * 2, number + 1, number - 1, number / 16, number * 16, low, high):
        other = float(int(other)) if "whole" in limits else other
        if low <= other <= high and other != number and other not in found:
            found.append(other)
    return [str(int(x)) if x == int(x) else repr(x) for x in found]


def built(folder, target, net, precision):
    """What `build` says and writes, without paths."""
    dump = folder / "dump"
    (folder / "net.txt").write_text(net)
    done = subprocess.run([LONGSHORE, "build", "net.txt", "--target", target, "--precision", precision, "--plan", "--json", "--dump", dump],
                          cwd=folder, capture_output=True, text=True)
    texts = [path.read_text() for path in sorted(dump.glob("*"))] if done.returncode == 0 else [done.stderr]
    return re.sub(r'"target":"[^"]*"|\S*\.toml\S*|target \S+|machine \S+', "", "\n".join([done.stdout, *texts]))


check = Checks()
check.that(len(table) > 40, "docs/targets.md has the table of keys", f"{len(table)} rows")
with tempfile.TemporaryDirectory() as temporary:
    folder = pathlib.Path(temporary)

    def variant(target, line_section="", line="", of=(NET, "int8")):
        (folder / "v.toml").write_text(f'name = "v"\ndoc = "v"\nlike = "{target}"\n{line_section}\n{line}\n')
        return built(folder, "v.toml", *of)

    plain = {(target, of): variant(target, of=of) for target in TARGETS for of in ((NET, "int8"), *OTHERS.values())}
    for (target, of), text in plain.items():
        check.that('"latency_ms"' in text, f"{of[0].split()[0]} builds for {target}", text[-500:])
    for key, limits in table:
        _, group, name = key.split(".")
        of = next((other for start, other in OTHERS.items() if name.startswith(start)), (NET, "int8"))
        effect = next((f"{target}: {value}" for target in TARGETS for value in others(key, value_of(target, key), limits)
                       if variant(target, f"[npu.{group}]", f"{name} = {value}", of) != plain[target, of]), None)
        if key in without:
            check.that(not effect, f"{key} is listed as without effect", f"but it has one: {effect}")
        else:
            check.that(effect, f"{key} has an effect", "docs/targets.md should list it under Without effect")

    # What the error for a misspelt fact lists is what the operators of that form give.
    def allowed(section, line):
        return set(re.search(r"expected one of: (.*)", variant("shore-1", section, line))[1].split(", "))

    given = set.union(*(allowed(f"[forms.{form}]", "misspelt = [1, 2]") for form in allowed("[forms.misspelt]", "rank = [1, 2]")))
    paragraph = page[page.index("Facts of every operator"):page.index("The error for a misspelt one")]
    documented = set(re.findall(r"`(\w+)`", paragraph)) | {"supported", "dtypes", "activations"}
    check.that(given == documented, "docs/targets.md lists the facts that operators give", f"they differ in {sorted(given ^ documented)}")
sys.exit(check.finish())
