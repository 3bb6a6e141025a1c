#!/usr/bin/env python3
"""The text in docs/walkthrough.md is what the stages print; --update writes it anew."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "docs/walkthrough.md"

# The slowest CPU path: ranges of activations do not depend on the machine then.
environment = dict(os.environ, LONGSHORE_CPU="generic")


def tool(*arguments):
    done = subprocess.run([ROOT / "build/release/longshore", *map(str, arguments)], cwd=ROOT, env=environment,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"longshore {' '.join(map(str, arguments))}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


with tempfile.TemporaryDirectory() as temporary:
    folder = pathlib.Path(temporary)
    bundle = folder / "small.lsb"
    tool("build", "docs/walkthrough.txt", "--target", "shore-1", "--dump", folder, "-o", bundle)
    texts = {path.stem: path.read_text().replace(f"{folder}/", "") for path in folder.glob("*.txt")}
    texts["compare"] = tool("compare", bundle).replace(f"{folder}/", "")

text = PAGE.read_text()


def block(match):
    name, lines = match[1], match[2]
    body = texts[name]
    if lines:
        body = "\n".join(l for l in body.splitlines() if re.match(lines, l))
    return f"<!-- stage: {name}{' lines: ' + lines if lines else ''} -->\n```text\n{body.rstrip()}\n```\n"


new = re.sub(r"<!-- stage: (\S+)(?: lines: (\S+))? -->\n```text\n.*?```\n", block, text, flags=re.S)
if "--update" in sys.argv[1:]:
    PAGE.write_text(new)
elif new != text:
    for old, now in zip(text.splitlines(), new.splitlines()):
        if old != now:
            sys.exit(f"docs/walkthrough.md is not what the stages print; tests/scripts/walkthrough.py --update mends it\n- {old}\n+ {now}")
    sys.exit("docs/walkthrough.md has other lines than the stages print")
print("docs/walkthrough.md is what the stages print")
