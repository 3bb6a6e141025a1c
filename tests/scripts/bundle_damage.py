#!/usr/bin/env python3
"""A bundle cut at 64 places and with 500 random bit flips, through `longshore run`: always the exit code 2 and a message
that names the file, never a crash, a hang or an answer. bundle_damage.py SEED repeats a run."""
import concurrent.futures
import os
import pathlib
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import cli  # noqa: E402

cli.with_oracle()
import small_net  # noqa: E402

check = cli.Checks()
seed = int(sys.argv[1]) if len(sys.argv) > 1 else random.SystemRandom().randrange(1 << 30)
random.seed(seed)
print(f"seed {seed}")
CUTS, FLIPS = 64, 500

with tempfile.TemporaryDirectory() as scratch:
    here = pathlib.Path(scratch)
    model = small_net.many_forms(here / "net.onnx")
    bundle = here / "net.lsb"
    done = cli.run("build", model, "--target", "rk3588-like", "-o", bundle)
    if not check.that(done.returncode == 0, "build", done.stderr):
        sys.exit(check.finish())
    whole = bundle.read_bytes()
    done = cli.run("run", bundle, "--output-dir", here / "whole")
    check.that(done.returncode == 0, "the whole bundle runs", done.stderr)

    # Cuts: both ends, each byte of the first 16, the rest at random. Flips: a tenth in the header, which is small.
    cuts = sorted({*range(16), len(whole) - 1, len(whole) - 16, len(whole) // 2})
    cuts += [random.randrange(len(whole)) for _ in range(CUTS - len(cuts))]
    flips = [random.randrange(8 * (min(256, len(whole)) if i % 10 == 0 else len(whole))) for i in range(FLIPS)]

    def damaged(index):
        if index < CUTS:
            return f"cut to {cuts[index]} bytes", whole[:cuts[index]]
        bit = flips[index - CUTS]
        content = bytearray(whole)
        content[bit // 8] ^= 1 << bit % 8
        return f"bit {bit % 8} of byte {bit // 8} flipped", bytes(content)

    def judge(index):
        name, content = damaged(index)
        file, out = here / f"damaged_{index}.lsb", here / f"out_{index}"
        file.write_bytes(content)
        try:
            done = cli.run("run", file, "--output-dir", out, timeout=60)
            left = out.exists() and list(out.iterdir())
            file.unlink()
            return name, file.name, done, left
        except subprocess.TimeoutExpired:
            return name, file.name, None, False

    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for name, file, done, left in pool.map(judge, range(CUTS + FLIPS)):
            if done is None:
                check.that(False, name, "it hangs")
            elif check.refuses(name, done, [file]):
                check.that(not left, name, "it left an answer")
    print(f"{len(whole)} bytes, {CUTS} cuts, {FLIPS} flips")
sys.exit(check.finish())
