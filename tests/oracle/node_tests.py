#!/usr/bin/env python3
"""ONNX's own backend tests, and the cases of public bug reports, through `longshore test-onnx`.

    tests/oracle/node_tests.py [--full] [--list]

The test folders are those that script/models fetches (node, simple, pytorch-converted,
pytorch-operator, light) and ../shared/cases/onnx where that exists. Prints one line for each test:
PASS name, or FAIL name: why; tests that are expected to fail are counted under their reason as one SKIP
line each. node_tests.expected holds the list; the run fails when

  - a test that is not listed as failing fails, whatever the reason;
  - a listed test passes, or a line of the list matches no test: the list is stale;
  - any test crashes, hangs, or ends in an error that is a bug of ours, listed or not;
  - fewer tests pass than the list's `at-least` says.

All run on the reference kernels. Those that pass must pass again optimised and on the CPU's kernels: one
PASS line a folder, and a FAIL line for each that does not. The light models (whole nets with constant
weights) run there only.

--list prints all failures grouped by reason: what to write into the list.
"""
import argparse
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LONGSHORE = pathlib.Path(os.environ.get("LONGSHORE", ROOT / "build/release/longshore"))
MODELS = pathlib.Path(os.environ.get("LONGSHORE_MODELS") or pathlib.Path.home() / ".cache/longshore/models")
CASES = ROOT.parent / "shared/cases/onnx"
CORES = len(os.sched_getaffinity(0))
# What test-onnx says of a child that did not end by itself, and of an error that is a bug.
NEVER = re.compile(r"it crashed|it took more than|it ended with status|not a clean error|this is a bug")


class Expected:
    """The list: `tag NAME text`, `at-least N`, `fail FOLDER REGEX TAG`."""

    def __init__(self, path):
        self.tags, self.lines, self.at_least = {}, [], 0
        for number, line in enumerate(path.read_text().splitlines(), 1):
            words = line.split("#", 1)[0].split()
            if not words:
                continue
            if words[0] == "tag" and len(words) > 2:
                self.tags[words[1]] = " ".join(words[2:])
            elif words[0] == "at-least" and len(words) == 2:
                self.at_least = int(words[1])
            elif words[0] == "fail" and len(words) == 4:
                if words[3] not in self.tags:
                    sys.exit(f"{path}:{number}: no tag {words[3]} is declared above")
                self.lines.append({"folder": words[1], "regex": re.compile(words[2]), "tag": words[3],
                                   "at": f"{path.name}:{number}", "used": 0})
            else:
                sys.exit(f"{path}:{number}: expected `tag NAME text`, `at-least N` or `fail FOLDER REGEX TAG`")

    def find(self, folder, name):
        for line in self.lines:
            if line["folder"] == folder and line["regex"].fullmatch(name):
                line["used"] += 1
                return line
        return None


def run_folders(folders, seconds, *how):
    """The verdicts of test-onnx, each test in a process of its own."""
    done = subprocess.run([LONGSHORE, "test-onnx", "--json", "--jobs", str(CORES), "--seconds", str(seconds), *how, *folders],
                          capture_output=True, text=True, errors="replace", timeout=3600)
    if done.returncode not in (0, 1):
        sys.exit(f"FAIL test-onnx: exit code {done.returncode}: {done.stderr.strip()[-500:]}")
    lines = done.stdout.splitlines()
    return json.loads(lines[-2])["cases"]


def light_folders(source, to):
    """The light models keep their answers beside them and make their inputs up, as ONNX's runner does."""
    import numpy
    import onnx

    folders = []
    for file in sorted(source.glob("*.onnx")):
        model = onnx.load(file)
        data = to / file.stem / "test_data_set_0"
        data.mkdir(parents=True)
        constants = {i.name for i in model.graph.initializer}
        inputs = sorted(model.graph.input, key=lambda v: v.name in constants)  # files are numbered in this order
        del model.graph.input[:]
        model.graph.input.extend(inputs)
        onnx.save(model, to / file.stem / "model.onnx")
        for i, value in enumerate(v for v in inputs if v.name not in constants):
            shape = [d.dim_value or 1 for d in value.type.tensor_type.shape.dim]
            count = int(numpy.prod(shape))
            array = (numpy.arange(count).reshape(shape) / count).astype(numpy.float32)
            (data / f"input_{i}.pb").write_bytes(onnx.numpy_helper.from_array(array).SerializeToString())
        for i in range(len(model.graph.output)):
            shutil.copy(source / f"{file.stem}_output_{i}.pb", data / f"output_{i}.pb")
        folders.append(to / file.stem)
    return folders


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="no difference: nothing here is long")
    parser.add_argument("--list", action="store_true", help="print all failures grouped by reason, judge nothing")
    options = parser.parse_args()
    expected = Expected(pathlib.Path(__file__).with_suffix(".expected"))
    results = []  # folder, case
    problems = 0
    fast = ("--on", "cpu", "--optimise")

    tests = MODELS / "onnx_tests"
    folders = {name: tests / name for name in ("node", "simple", "pytorch-converted", "pytorch-operator")}
    for folder in folders:
        if not (tests / folder).is_dir():
            sys.exit(f"FAIL onnx tests: {tests / folder} is not there: run script/models")
        results += [(folder, case) for case in run_folders([tests / folder], 30)]
    with tempfile.TemporaryDirectory() as scratch:
        results += [("light", case) for case in run_folders(light_folders(tests / "light", pathlib.Path(scratch)), 600, *fast)]
    if CASES.is_dir():
        folders["cases"] = CASES
        results += [("cases", case) for case in run_folders([CASES], 60)]
    else:
        print(f"SKIP cases of bug reports: {CASES.relative_to(ROOT.parent)} is not beside this checkout")

    if options.list:
        groups = collections.defaultdict(list)
        for folder, case in results:
            if case["result"] == "failed":
                groups[re.sub(r"\S*/(?=test_\w+/model)", "", case["reason"]).replace(case["name"], "*")[:160]].append(
                    f"{folder}/{case['name']}")
        for reason, names in sorted(groups.items(), key=lambda g: -len(g[1])):
            print(f"{len(names):4} {reason}\n       {' '.join(names)}")
        return 0

    passed, excused = 0, collections.Counter()
    ran = {folder for folder, _ in results}
    for folder, case in results:
        name, line = f"{folder}/{case['name']}", expected.find(folder, case["name"])
        if case["result"] == "passed" and line is None:
            passed += 1
            print(f"PASS {name}")
        elif case["result"] == "passed":
            passed += 1
            problems += 1
            print(f"FAIL {name}: it passes, but {line['at']} lists it as failing ({line['tag']}): the list is stale")
        elif line is None or NEVER.search(case["reason"]):
            problems += 1
            print(f"FAIL {name}: {case['reason']}")
        else:
            excused[line["tag"]] += 1
    right = {(folder, case["name"]) for folder, case in results if case["result"] == "passed"}
    for folder, path in folders.items():
        wrong = [case for case in run_folders([path], 60, *fast) if case["result"] == "failed"
                 and ((folder, case["name"]) in right or NEVER.search(case["reason"]))]
        problems += len(wrong)
        for case in wrong:
            print(f"FAIL {folder}/{case['name']} on the CPU, optimised: {case['reason']}")
        if not wrong:
            print(f"PASS {folder} on the CPU, optimised: {sum(f == folder for f, _ in right)} tests")

    for line in expected.lines:
        if line["folder"] in ran and not line["used"]:
            problems += 1
            print(f"FAIL {line['at']}: no test of {line['folder']} is named {line['regex'].pattern} and in no line above it")
    for tag, count in sorted(excused.items()):
        print(f"SKIP {count} tests ({tag}): {expected.tags[tag]}")
    print(f"{passed} of {len(results)} tests pass, the list wants at least {expected.at_least}")
    if passed < expected.at_least:
        problems += 1
        print(f"FAIL pass count: {passed} tests pass, expected at least {expected.at_least}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
