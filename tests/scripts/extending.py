#!/usr/bin/env python3
"""Adds everything that docs/extending.md shows to one copy of the tree, builds it once, and tries each thing.

Of the chapter this reads, in each section (`## ...`):
    <!-- file: PATH -->   before a code block: a new file; it must not exist yet
    <!-- patch: PATH -->  before a diff block: a change of a file that exists. Only a section whose heading says
                          "precision" may have such, of at most four files.
    <!-- tests: FILTER -->  unit tests that must exist, and pass, in the copy and not in the tree
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MOST_PATCHES = 4


def run(folder, *arguments, **options):
    done = subprocess.run(list(map(str, arguments)), cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, arguments))}: exit code {done.returncode}\n{done.stdout[-6000:]}")
    return done.stdout


def blocks(kind, text):
    return re.findall(rf"<!-- {kind}: (\S+) -->\n```\w*\n(.*?)```\n", text, re.S)


def patched(name, text, diff):
    """Hunks are divided by lines that begin with @@; the lines of a hunk must be in the file, once."""
    for hunk in filter(str.strip, re.split(r"^@@.*\n", diff, flags=re.M)):
        lines = [line or " " for line in hunk.splitlines()]
        old = "".join(line[1:] + "\n" for line in lines if line[0] in " -")
        new = "".join(line[1:] + "\n" for line in lines if line[0] in " +")
        assert text.count(old) == 1, f"{name}: {text.count(old)} places are\n{old}"
        text = text.replace(old, new)
    return text


def list_tests(program, pattern):
    """Names of tests that match, as Suite.Test without what follows a '#'."""
    listing = run(ROOT, program, "--gtest_list_tests", f"--gtest_filter={pattern}")
    names, suite = [], ""
    for line in listing.splitlines():
        if line.startswith("  "):
            names.append(suite + line.split("#")[0].strip())
        elif line.endswith(".") or ".  #" in line:
            suite = line.split()[0]
    return names


sections = re.split(r"^## ", (ROOT / "docs/extending.md").read_text(), flags=re.M)[1:]
with tempfile.TemporaryDirectory() as temporary:
    copy = pathlib.Path(temporary) / "tree"
    tracked = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                             capture_output=True, text=True, check=True).stdout.split("\0")
    for name in filter(None, tracked):
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name)

    filters, added = [], 0
    for section in sections:
        heading = section.splitlines()[0]
        files, patches = blocks("file", section), blocks("patch", section)
        for name, text in files:
            assert not (copy / name).exists(), f"{heading}: {name} is in the tree already"
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            (copy / name).write_text(text)
        assert not patches or "precision" in heading.lower(), f"{heading}: changes files that exist"
        assert len({name for name, _ in patches}) <= MOST_PATCHES, f"{heading}: changes more than {MOST_PATCHES} files"
        for name, text in patches:
            (copy / name).write_text(patched(name, (copy / name).read_text(), text))
        wanted = re.findall(r"<!-- tests: (\S+) -->", section)
        assert wanted or not any(name.endswith(".cpp") for name, _ in files), f"{heading}: code, but no tests are named"
        filters += [(heading, pattern) for pattern in wanted]
        added += bool(files or patches)
    assert added >= 4, f"only {added} sections add anything"

    run(copy, "script/build", "release", "longshore_tool", "longshore_tests")
    program = copy / "build/release/longshore_tests"
    for heading, pattern in filters:
        new = list_tests(program, pattern)
        old = ROOT / "build/release/longshore_tests"
        before = list_tests(old, pattern) if os.access(old, os.X_OK) else []
        assert set(new) - set(before), f"{heading}: {pattern} selects no test that the tree lacks"
        run(copy, program, "--gtest_brief=1", f"--gtest_filter={pattern}")
        print(f"{heading}: {len(new)} tests")
    run(copy, "script/check_layers")

    tool = copy / "build/release/longshore"
    assert "example.Cube" in run(copy, tool, "ops")
    assert "shore-1-wide" in run(copy, tool, "targets")
    (copy / "cube.txt").write_text("(x: f32[1,2,4,4]) { y = example.Cube(x) return y }\n")
    run(copy, tool, "run", "cube.txt")
    run(copy, tool, "build", "cube.txt", "--target", "shore-1-wide", "-o", "cube.lsb")
    assert (copy / "cube.lsb").stat().st_size > 0
print(f"{added} things were added, each as docs/extending.md says")
