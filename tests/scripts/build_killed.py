#!/usr/bin/env python3
"""`build` killed at random moments leaves the old bundle or none, whole in any case, and what it leaves behind does not
stop the next build. Printed with its seed: build_killed.py SEED repeats a run."""
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import cli  # noqa: E402

cli.with_oracle()
import small_net  # noqa: E402

check = cli.Checks()
seed = int(sys.argv[1]) if len(sys.argv) > 1 else random.SystemRandom().randrange(1 << 30)
random.seed(seed)
print(f"seed {seed}")
ROUNDS = 40

with tempfile.TemporaryDirectory() as scratch:
    here = pathlib.Path(scratch)
    old_model, new_model = small_net.chain(here / "old.onnx", 1), small_net.many_forms(here / "new.onnx", 2)
    out = here / "out"
    out.mkdir()
    bundle = out / "m.lsb"

    def build(model, to):
        return ["build", model, "--target", "rk3588-like", "-o", to]

    times = []
    for _ in range(2):
        start = time.monotonic()
        done = cli.run(*build(new_model, here / "expected.lsb"))
        times.append(time.monotonic() - start)
    if not check.that(done.returncode == 0, "build", done.stderr):
        sys.exit(check.finish())
    new = (here / "expected.lsb").read_bytes()
    done = cli.run(*build(old_model, here / "former.lsb"))
    old = (here / "former.lsb").read_bytes()
    ended = {"none": 0, "old": 0, "new": 0}
    for turn in range(ROUNDS):
        with_old = turn % 2 == 0
        if with_old:
            bundle.write_bytes(old)
        else:
            bundle.unlink(missing_ok=True)
        process = subprocess.Popen([cli.LONGSHORE, *build(new_model, bundle)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        # Half of the moments fall into the last tenth, where the file is written.
        moment = random.uniform(0, min(times)) if turn % 4 < 2 else random.uniform(0.9, 1.1) * min(times)
        time.sleep(moment)
        process.send_signal(signal.SIGKILL)
        process.wait()
        found = bundle.read_bytes() if bundle.exists() else None
        allowed = {"old": old, "new": new} if with_old else {"none": None, "new": new}
        name = next((n for n, content in allowed.items() if content == found), None)
        check.that(name, f"killed after {moment:.3f} s", f"{'no file' if found is None else str(len(found)) + ' bytes'} that is neither {' nor '.join(allowed)}; the new one has {len(new)}")
        if name:
            ended[name] += 1
    print(f"left: {ended}")
    check.that(ended["none"] and ended["old"], "some builds were killed before their end", ended)
    strays = [p.name for p in out.iterdir() if p != bundle]
    check.that(len(strays) <= ROUNDS // 2, "few temporary files are left", strays)
    done = cli.run(*build(new_model, bundle))
    check.that(done.returncode == 0 and bundle.read_bytes() == new, "the next build", done.stderr)
    done = cli.run("run", bundle, "--output-dir", here / "answers")
    check.that(done.returncode == 0, "the bundle runs", done.stderr)
sys.exit(check.finish())
