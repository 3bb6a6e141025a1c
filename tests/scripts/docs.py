#!/usr/bin/env python3
"""Every relative link of the documentation leads to a file, every file that it names exists, every option of every command
stands in a chapter of its own subject, and what the README says of installing is true."""
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from cli import ROOT, Checks, run

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("*/README.md")])
# What is named in `code` as a path from the top of the tree; build/ and what has a capital stand-in (NAME) need not be there.
FOLDERS = "src|tools|tests|docs|script|targets|zoo|bench|fuzz|cmake|include|python|web|stories"
PATH = re.compile(rf"`((?:{FOLDERS})/[\w./*-]+)`")
# Where a command's own options are explained; those that several commands share stand in the chapter of their subject.
CHAPTERS = {"bench": ["run.md"], "build": ["compile.md", "plan-lower.md", "place.md", "report.md"], "cliffs": ["report.md"], "compare": ["compare.md"], "debug": ["debug.md"], "eval": ["quantize.md", "run.md"],
            "inspect": ["read.md", "optimize.md"], "ops": ["read.md"], "quantise": ["quantize.md"], "run": ["run.md"], "story": ["stories.md"], "survey": ["targets.md"], "targets": ["targets.md"], "test-onnx": ["read.md"]}
GROUPS = {"Quantisation": ["quantize.md"], "Pictures": ["read.md"]}
SHARED = {"--dim": ["compile.md"], "--shape": ["compile.md"], "--input-value": ["compile.md"], "--json": ["errors.md"], "--set": ["targets.md"]}
STAND_IN = re.compile(r"[A-Z]{2,}|<|\*")

check = Checks()
for page in PAGES:
    text, name = page.read_text(), page.relative_to(ROOT)
    new = {f for f in re.findall(r"<!-- file: (\S+) -->", text)}  # files that a chapter shows how to add
    prose = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", prose):
        if re.match(r"\w+:|#", target):
            continue
        path, _, anchor = target.partition("#")
        check.that((page.parent / path).exists(), f"{name}: link {target}", "there is no such file")
        if anchor and path.endswith(".md") and (page.parent / path).exists():
            headings = re.findall(r"^#+ (.*)", (page.parent / path).read_text(), re.M)
            slugs = {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}
            check.that(anchor in slugs, f"{name}: link {target}", "there is no such heading")
    for path in PATH.findall(prose):
        path = path.rstrip(".")
        if path in new:
            continue
        if STAND_IN.search(path):
            if "*" in path and not STAND_IN.search(path.replace("*", "")):
                check.that(any(ROOT.glob(path)), f"{name}: {path}", "no file is so called")
            continue
        check.that((ROOT / path).exists(), f"{name}: {path}", "there is no such file")


def options(command):
    """Each option of the command: its group in --help, and its names."""
    done, group = run(command, "--help"), "Options"
    check.that(done.returncode == 0, f"{command} --help", done.stderr)
    for line in done.stdout.splitlines():
        if heading := re.fullmatch(r"(\w+):", line):
            group = heading[1]
        elif (names := re.match(r"  (-[\w-]+(?:,-[\w-]+)*)", line)) and "--help" not in names[1]:
            yield group, names[1].split(",")


commands = re.findall(r"^  ([\w-]+) ", run("--help").stdout.partition("Subcommands:")[2], re.M)
check.that(sorted(commands) == sorted(CHAPTERS), "a chapter for each command", commands)
for command in commands:
    found = list(options(command))
    check.that(any("--json" in names for _, names in found), f"{command} --help", "no --json")
    for group, names in found:
        pages = SHARED.get(names[-1]) or GROUPS.get(group) or CHAPTERS.get(command, [])
        text = "".join((ROOT / "docs" / page).read_text() for page in pages)
        check.that(any(re.search(rf"(?<![\w-]){name}(?![\w-])", text) for name in names), f"{command} {'/'.join(names)}",
                   f"does not stand in {' or '.join(pages)}")

# The command of the README, into another prefix; a program that is installed finds its targets.
check.that("\n    cmake --install build/release\n" in (ROOT / "README.md").read_text(), "README.md: cmake --install", "is not there")
with tempfile.TemporaryDirectory() as prefix:
    done = subprocess.run(["cmake", "--install", "build/release", "--prefix", prefix], cwd=ROOT, capture_output=True, text=True)
    if check.that(done.returncode == 0, "cmake --install", done.stderr):
        done = subprocess.run([f"{prefix}/bin/longshore", "targets", "shore-1"], cwd=prefix, capture_output=True, text=True)
        check.that(done.returncode == 0 and f"{prefix}/share/longshore/targets/shore-1.toml" in done.stdout, "an installed program's targets",
                   done.stdout[:500] + done.stderr)
sys.exit(check.finish())
