"""What the scripts under tests/scripts share: running the command line and counting what holds."""
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LONGSHORE = pathlib.Path(os.environ.get("LONGSHORE", ROOT / "build/release/longshore"))


def with_oracle():
    """Goes on in the reference environment, which has numpy, onnx and pillow."""
    done = subprocess.run([ROOT / "script/oracle_env"], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"no reference environment: {done.stderr.strip()[-500:]}")
    python = done.stdout.strip()
    if pathlib.Path(sys.prefix) != pathlib.Path(python).parent.parent:
        os.execv(python, [python, *sys.argv])


def run(*arguments, timeout=300, **options):
    """longshore with these arguments; exit code, stdout and stderr as text."""
    return subprocess.run([LONGSHORE, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          errors="replace", timeout=timeout, **options)


class Checks:
    """Counts what holds; `finish` prints the sum and gives the exit code."""

    def __init__(self):
        self.passed = self.failed = 0

    def that(self, holds, name, why=""):
        if holds:
            self.passed += 1
        else:
            self.failed += 1
            print(f"FAIL {name}: {why}", flush=True)
        return bool(holds)

    def refuses(self, name, done, says=(), code=2, never=()):
        """It ended with that code and one line on stderr that holds each of the words."""
        text = done.stderr.strip()
        lines = [line for line in text.splitlines() if not line.startswith("longshore: warning")]
        last = lines[-1] if lines else ""
        problems = []
        if done.returncode != code:
            problems.append(f"exit code {done.returncode}, expected {code}")
        if not last.startswith("longshore: "):
            problems.append("the last line of stderr is no message of ours")
        if "this is a bug" in text:
            problems.append("it says that it is a bug")
        tight = last.lower().replace(", ", ",")
        problems += [f"does not say '{word}'" for word in says if str(word).lower() not in tight]
        problems += [f"says '{word}'" for word in never if str(word) in text + done.stdout]
        return self.that(not problems, name, "; ".join(problems) + f"; stderr: {text[-600:]}")

    def finish(self):
        print(f"{self.passed} passed, {self.failed} failed")
        return 1 if self.failed or not self.passed else 0
