#!/usr/bin/env python3
"""The Ethos-U targets run small nets whole and exactly, refuse what their memory cannot hold, and take the time that Vela estimates.

At least 99 % of the MACs of five MLPerf Tiny models are on the NPU of each target, and the simulator's bytes are the reference's.
In the default system of each target the total is within 20 % of Vela's and the median layer within 25 % (bench/ethos_u.py).
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import cli

TARGETS = ("ethos-u55-128-like", "ethos-u55-256-like", "ethos-u65-512-like")
MODELS = ("resnet8_cifar10", "resnet8_large_cifar10", "mobilenet_v1_025_vww", "dscnn_kws", "autoencoder_ad")
FAST = ("--calibrate-limit", "1", "--calibrator", "min_max", "--no-bias-correction")
LARGE = """large (x: f32[1, 16, 512, 512]) {
  y = Conv(x, f32[16, 16, 3, 3]{0.1}, f32[16]{0.5}, pads=[1, 1, 1, 1])
  return y
}
"""
FOLDER = pathlib.Path("shared/data/models")

check = cli.Checks()
models = next((parent / FOLDER for parent in cli.ROOT.parents if (parent / FOLDER).exists()), None)
with tempfile.TemporaryDirectory() as temporary:
    here = pathlib.Path(temporary)
    (here / "large.txt").write_text(LARGE)
    check.refuses("activations of 8 MiB in an SRAM of 2", cli.run("build", here / "large.txt", "--target", "ethos-u55-256-like", *FAST),
                  ["npu.dram.bytes", "ethos-u55-256-like", "2097152"])
    for name in MODELS if models else ():
        for target in TARGETS:
            done = cli.run("build", models / f"{name}.onnx", "--target", target, "-o", here / "out.lsb", "--json", *FAST)
            if not check.that(done.returncode == 0, f"{name} builds for {target}", done.stderr[-500:]):
                continue
            share = json.loads(done.stdout.strip().splitlines()[-1])["npu_mac_share"]
            check.that(share >= 0.99, f"{name} on {target}", f"{share} of the MACs are on the NPU")
            done = cli.run("compare", here / "out.lsb")
            check.that(done.returncode == 0 and " 0 different" in done.stdout, f"{name} on {target}, bytes", done.stdout[-500:] + done.stderr[-500:])
if not models:
    print(f"SKIP {FOLDER} is not beside this checkout")
done = subprocess.run([sys.executable, cli.ROOT / "bench/ethos_u.py", "--check"], capture_output=True, text=True,
                      env=dict(os.environ, LONGSHORE=str(cli.LONGSHORE)))
print(done.stdout)
check.that(done.returncode == 0, "cycles beside Vela's", done.stderr)
sys.exit(check.finish())
