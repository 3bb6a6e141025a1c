#!/usr/bin/env python3
"""Every relative link of the documentation leads to a file, and every file that it names exists."""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from cli import ROOT, Checks

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("*/README.md")])
# What is named in `code` as a path from the top of the tree; build/ and what has a capital stand-in (NAME) need not be there.
FOLDERS = "src|tools|tests|docs|script|targets|zoo|bench|fuzz|cmake|include|python|web|stories"
PATH = re.compile(rf"`((?:{FOLDERS})/[\w./*-]+)`")
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
sys.exit(check.finish())
