#!/usr/bin/env python3
"""The targets after others' models run nets exactly: nvdla-large-like and systolic-32; and NVDLA's layers take its own sheet's cycles.

Each net's simulated bytes are the reference's, with all of its multiply-accumulates on the NPU. bench/nvdla.py holds 95 layers
against NVDLA's spreadsheet; what SCALE-Sim counts for the systolic array is held by Costs.SystolicTargetEqualsScaleSim.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import cli

FAST = ("--calibrate-limit", "1", "--calibrator", "min_max", "--no-bias-correction")
# Plain, strided and depthwise convolutions, one of 3 channels, two groups, a residual, a pool and a matrix product.
NET = """net (x: f32[1, 3, 33, 31]) {
  a = Conv(x, f32[24, 3, 7, 7]{0.1}, f32[24]{0.5}, strides=[2, 2], pads=[3, 3, 3, 3])
  b = Conv(a, f32[40, 24, 3, 3]{0.02}, f32[40]{0.1}, pads=[1, 1, 1, 1])
  c = Relu(b)
  d = Conv(c, f32[40, 1, 3, 3]{0.2}, pads=[1, 1, 1, 1], group=40)
  e = Add(c, d)
  f = Conv(e, f32[48, 20, 3, 3]{0.02}, strides=[2, 2], group=2)
  g = MaxPool(f, kernel_shape=[2, 2], strides=[2, 2])
  h = GlobalAveragePool(g)
  i = Flatten(h)
  y = Gemm(i, f32[48, 100]{0.3}, f32[100]{0.1})
  return y
}
"""
check = cli.Checks()
with tempfile.TemporaryDirectory() as temporary:
    here = pathlib.Path(temporary)
    (here / "net.txt").write_text(NET)
    for model in (here / "net.txt", cli.ROOT / "zoo/mobilenetv2_fashion.onnx"):
        for target in ("nvdla-large-like", "systolic-32"):
            name = f"{model.stem} on {target}"
            done = cli.run("build", model, "--target", target, "--force", "*=npu", "-o", here / "out.lsb", "--json", *FAST)
            if not check.that(done.returncode == 0, name, done.stderr[-500:]):
                continue
            share = json.loads(done.stdout.strip().splitlines()[-1])["npu_mac_share"]
            check.that(share == 1, name, f"{share} of the MACs are on the NPU")
            done = cli.run("compare", here / "out.lsb")
            check.that(done.returncode == 0 and " 0 different" in done.stdout, f"{name}, bytes", done.stdout[-500:] + done.stderr[-500:])
done = subprocess.run([sys.executable, cli.ROOT / "bench/nvdla.py", "--check"], capture_output=True, text=True,
                      env=dict(os.environ, LONGSHORE=str(cli.LONGSHORE)))
print(done.stdout)
check.that(done.returncode == 0, "cycles beside NVDLA's", done.stderr)
sys.exit(check.finish())
