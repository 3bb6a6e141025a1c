#!/usr/bin/env python3
"""What tests/suite.py would let pass: reasons to skip that are none, parts that nobody runs, a filter that names no test;
and the two checks of objects, script/check_isa and script/check_linkage, find what is planted."""
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from cli import ROOT, Checks
import suite  # of tests/, not this file: that folder comes first now

check = Checks()

# One line of each good reason as the tests print it, and what looks like one.
good = ["release Inners/Inner.Agrees/3: this machine has no avx512vnni",
        "asan Run.NothingIsAllocated: the address sanitizer has an allocator of its own",
        "asan Allocations.Counted: the address sanitizer counts its own",
        "release Costs.Golden: shared/data/scalesim_golden.csv is not beside this checkout",
        "next_cases.py: shared/cases/next is not beside this checkout",
        "node_tests.py: 12 tests (sparse): no sparse tensors"]
bad = ["eval.py: what needs fashion-mnist: the data set is not there (Debian package dataset-fashion-mnist)",
       "pictures.py: longshore is not built", "made_up.py: no time", "made_up.py: 12 tests (sparse): no sparse tensors",
       "release TestOnnx.Runs: the tool is not built",
       "real_models.py: resnet50: resnet50.onnx is not in models (script/models fetches it)"]
check.that(suite.could_not_run(good) == [], "good reasons", suite.could_not_run(good))
for skip in bad:
    check.that(suite.could_not_run([skip]) == [f"could not run: {skip}"], "a reason that is none", skip)

# The same through the whole program: one script that skips for such a reason.
with tempfile.TemporaryDirectory() as temporary:
    planted = pathlib.Path(temporary) / "made_up.py"
    planted.write_text("#!/bin/sh\necho SKIP no time\n")
    planted.chmod(0o755)
    drive = ("import pathlib, suite, sys\n"
             "name, path = sys.argv.pop(), pathlib.Path(sys.argv.pop())\n"
             "suite.stages = lambda full: [[(name, lambda: suite.script(path))], [('later', lambda: suite.Counts(passed=1))]]\n"
             "sys.exit(suite.main())\n")

    def whole(name, *options):
        done = subprocess.run([sys.executable, "-c", drive, *options, planted, name], capture_output=True, text=True, cwd=temporary,
                              env=dict(os.environ, PYTHONPATH=str(ROOT / "tests")))
        return done.returncode, (done.stdout.splitlines() or [""])[-1]

    check.that(whole("made up") == (0, "2 passed, 0 failed, 1 skipped"), "a skip", whole("made up"))
    found = whole("made up", "--strict")
    check.that(found == (1, "2 passed, 1 failed, 1 skipped"), "a skip with --strict", found)
    # Without a build the rest cannot run; any other failure does not end it.
    planted.write_text("#!/bin/sh\nexit 1\n")
    for name, passed in (("release build", 0), ("script build_killed", 1)):
        found = whole(name)
        check.that(found == (1, f"{passed} passed, 1 failed, 0 skipped"), f"a failure of {name}", found)

usual, full = ({name for stage in suite.stages(long) for name, _ in stage} for long in (False, True))
for name in ("layers", "format", "unit tests", "instruction sets", "linkage", "smallest runtime", "clang-tidy", "models",
             "sanitizers", "fuzz", "oracle node_tests", *(f"script {path.stem}" for path in (ROOT / "tests/scripts").glob("*.py"))):
    check.that(name in usual, f"the part {name}", sorted(usual))
check.that(full - usual == {"tsan build", "thread sanitizer"} and usual <= full, "parts of --full", sorted(full - usual))

# Each run of unit tests names some that there are; a filter that no longer does is a failure and not a success of nothing.
found = suite.unit_tests("release", filter_="Threads.*")
check.that(found.passed and not found.failures, "a filter that names tests", found.failures)
found = suite.unit_tests("release", filter_="NoSuchTest.*")
check.that(not found.passed and found.failures == ["release unit tests: none ran that NoSuchTest.* names"],
           "a filter that names none", found.failures)

found = suite.command(["sh", "-c", "echo one; echo 'a.cpp:1:2: error: what it was'; exit 3"], name="build")
check.that(found.failures == ["build: exit code 3: a.cpp:1:2: error: what it was"], "a compiler's error in the summary", found.failures)


def verdict(script, sources, *flags):
    """The script's exit code and errors on a build folder that holds these sources as objects; {path: text}."""
    with tempfile.TemporaryDirectory() as temporary:
        for path, text in sources.items():
            object_ = pathlib.Path(temporary) / "CMakeFiles/longshore_runtime.dir/src" / f"{path}.o"
            object_.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(["g++", "-std=c++20", *flags, "-x", "c++", "-c", "-", "-o", object_], input=text, text=True, check=True)
        done = subprocess.run([ROOT / "script" / script, temporary], capture_output=True, text=True)
        return done.returncode, done.stderr


inner = "cpu/planted.avx2.cpp"
code, text = verdict("check_isa", {inner: "int f(int x) { return x; }"})
check.that(code == 0, "check_isa: an object without weak symbols", text)
code, text = verdict("check_isa", {inner: "inline int weak(int x) { return x; }\nint f(int x) { return weak(x); }"}, "-O0")
check.that(code == 1 and inner in text and "weak(int)" in text, "check_isa: an inline function", f"exit code {code}: {text}")
code, text = verdict("check_isa", {"cpu/planted.cpp": "int f(int x) { return x; }"})
check.that(code == 2, "check_isa: nothing to look at", f"exit code {code}: {text}")

private = "namespace { template <class T> struct Box { static int size() { return %s; } }; }\n"
helper = "template <template <class> class B> int size() { return B<int>::size(); }\n"
sources = {f"ops/{name}.cpp": private % number + helper + f"int {name}() {{ return size<Box>(); }}"
           for name, number in (("first", 1), ("second", 2))}
code, text = verdict("check_linkage", sources, "-O0")
check.that(code == 1 and "first.cpp.o" in text and "second.cpp.o" in text, "check_linkage: a helper of two files",
           f"exit code {code}: {text}")
for path, source in sources.items():
    sources[path] = source.replace(helper, "namespace {\n" + helper + "}\n")
code, text = verdict("check_linkage", sources, "-O0")
check.that(code == 0, "check_linkage: the same in anonymous namespaces", f"exit code {code}: {text}")
code, text = verdict("check_linkage", {})
check.that(code == 1 and "no objects" in text, "check_linkage: nothing to look at", f"exit code {code}: {text}")
sys.exit(check.finish())
