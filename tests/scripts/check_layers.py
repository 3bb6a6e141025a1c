#!/usr/bin/env python3
"""script/check_layers finds an operator's name, a form's name and a forbidden include that are put where they may not be."""
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from cli import ROOT, Checks

check = Checks()


def verdict(tree):
    done = subprocess.run([sys.executable, tree / "script/check_layers"], capture_output=True, text=True)
    return done.returncode, done.stderr


def planted(name, file, line, says):
    """In a copy of the tree with this line at the end of the file, the check fails and says so."""
    path = tree / file
    before = path.read_text() if path.exists() else None
    path.write_text((before or "") + line + "\n")
    code, text = verdict(tree)
    check.that(code == 1 and says in text and file in text, name, f"exit code {code}: {text}")
    path.unlink() if before is None else path.write_text(before)


with tempfile.TemporaryDirectory() as temporary:
    tree = pathlib.Path(temporary)
    for folder in ("src", "tools", "tests", "include", "stories", "script"):
        shutil.copytree(ROOT / folder, tree / folder, ignore=shutil.ignore_patterns("__pycache__"))
    code, text = verdict(tree)
    check.that(code == 0, "the tree as it is", text)
    planted("operator in place", "src/place/planted.cpp", 'bool f(const Node& n) { return n.op->name == "HardSwish"; }',
            "names the operator HardSwish")
    planted("operator with its domain", "src/sim/planted.cpp", 'const char* f() { return "com.microsoft.FusedConv"; }',
            "names the operator com.microsoft.FusedConv")
    planted("operator in the tool", "tools/longshore/planted.cpp", 'bool f(const Node& n) { return n.is("Softmax"); }',
            "names the operator Softmax")
    planted("operator that is not in the kernel's list", "src/cpu/kernels/planted.cpp",
            'Kernel k = {.operators = {"Relu"}, .take = [](auto& n) { return n.name == "Clip"; }};', "names the operator Clip")
    planted("enumerator of a form", "src/plan/planted.cpp", "bool f(Form x) { return x == Form::depthwise; }", "names the form depthwise")
    planted("constant of a form", "src/lower/planted.cpp", "const void* f() { return &forms::form_depthwise; }", "names the form depthwise")
    planted("name of a form", "src/place/planted.cpp", 'bool f(const FormDef& x) { return x.name == "depthwise"; }',
            "names the form depthwise")
    planted("include of a later stage", "src/ir/planted.cpp", '#include "place/place.hpp"', "ir/ may not include place/")
    planted("a story that needs the tests' helpers", "stories/planted.cpp", '#include "tests/npu_case.hpp"', "stories/ may not include tests/")
    good = tree / "src/cpu/kernels/planted.cpp"
    good.write_text('Kernel k = {.operators = {"Relu"}, .take = [](auto& n) { return n.name == "Relu"; }};\n')
    code, text = verdict(tree)
    check.that(code == 0, "a kernel may name what it is for", text)
sys.exit(check.finish())
