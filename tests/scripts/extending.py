#!/usr/bin/env python3
"""Adds the operator, the pass and the target of docs/extending.md to a copy of the tree, one file each, and tries them."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def run(folder, *arguments):
    done = subprocess.run(list(map(str, arguments)), cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, arguments))}: exit code {done.returncode}\n{done.stdout[-6000:]}")
    return done.stdout


files = dict(re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```\n", (ROOT / "docs/extending.md").read_text(), re.S))
assert len(files) == 3, sorted(files)

with tempfile.TemporaryDirectory() as temporary:
    copy = pathlib.Path(temporary) / "tree"
    tracked = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                             capture_output=True, text=True, check=True).stdout.split("\0")
    for name in filter(None, tracked):
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name)
    for name, text in files.items():
        assert not (copy / name).exists(), f"{name} is in the tree already"
        (copy / name).write_text(text)

    run(copy, "script/build", "release")
    tests = run(copy, "build/release/longshore_tests", "--gtest_filter=*example_Cube*:*double_negation*:*HaveDocumentation*")
    for part in ("EveryExample.ReferenceFillsTheInferredTypes/example_Cube", "EveryPass.DoesWhatItsCaseSays/double_negation"):
        assert part in tests, f"no test ran for {part}\n{tests}"
    tool = copy / "build/release/longshore"
    assert "example.Cube" in run(copy, tool, "ops")
    assert "shore-1-wide" in run(copy, tool, "targets")
    (copy / "cube.txt").write_text("(x: f32[1,2,4,4]) { y = example.Cube(x) return y }\n")
    run(copy, tool, "run", "cube.txt")
    run(copy, tool, "build", "cube.txt", "--target", "shore-1-wide", "-o", "cube.lsb")
    assert (copy / "cube.lsb").stat().st_size > 0
print("an operator, a pass and a target were each added by one file")
