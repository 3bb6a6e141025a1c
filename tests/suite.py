"""Runs every kind of test that the project has and adds them up.

The parts, in order: the release build, and beside it the models, the layer table and the format; its unit tests, what its
objects may not hold, the smallest runtime, clang-tidy on changed files, comparisons with other engines (tests/oracle/*.py),
scripts (tests/scripts/*), the same unit tests under sanitizers, built by clang, and some seconds of each fuzz target; with
--full also the tests of threads under the thread sanitizer. A part prints what it found; the last line counts all of them.

With --strict, as CI runs it, what could not run is a failure. Only four reasons to skip are good there: the machine lacks
a CPU's instructions, the address sanitizer's allocator hides what the test counts, the test reads a folder `shared/` that
lies beside some checkouts, or the case stands with its reason in tests/oracle/node_tests.expected.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import re
import shlex
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
CORES = len(os.sched_getaffinity(0))
SEED = random.randrange(1, 99999)  # of the unit tests; printed, and given again by --seed
GOOD_REASONS = (r"this machine has no \w+", r": the address sanitizer \w+ ", r"\bshared/\S+ is not ",
                r"^node_tests\.py: \d+ tests \(")


class Counts:
    """Passed, failed and skipped, with a line for each failure and each reason to skip, and the output worth showing."""

    def __init__(self, passed=0, failures=(), skips=(), output=""):
        self.passed, self.failures, self.skips, self.output = passed, list(failures), list(skips), output

    def add(self, other):
        self.passed += other.passed
        self.failures += other.failures
        self.skips += other.skips
        self.output += other.output


def command(arguments, **options):
    """Runs it; one test that passes if it exits with 0. Shows the output of a failure."""
    name = options.pop("name", shlex.join(map(str, arguments))[:100])
    try:
        done = subprocess.run(list(map(str, arguments)), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace", **options)
    except subprocess.TimeoutExpired as late:
        return Counts(failures=[f"{name}: stopped after {late.timeout} s"])
    if done.returncode == 0:
        return Counts(passed=1)
    # The summary is what people see of a long log.
    error = next((": " + line[:200] for line in done.stdout.splitlines() if re.search(r"\berror: ", line)), "")
    return Counts(failures=[f"{name}: exit code {done.returncode}{error}"], output=done.stdout[-8000:] + "\n")


def build(preset, *targets):
    return command([ROOT / "script/build", preset, *targets], name=f"build {preset}")


def script(path):
    """One test that passes if it exits with 0; each line `SKIP why` is a part that it left out."""
    done = subprocess.run([path], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    skips = [f"{path.name}: {line[5:]}" for line in done.stdout.splitlines() if line.startswith("SKIP ")]
    if done.returncode == 0:
        return Counts(passed=1, skips=skips)
    return Counts(failures=[f"{path.name}: exit code {done.returncode}"], skips=skips, output=done.stdout[-8000:] + "\n")


def fuzz(seconds):
    """Each fuzz target for so long; its corpus stays in the build folder. A find is a failure and leaves its input there."""
    folder = ROOT / "build/asan/fuzz"
    seeds = {
        "onnx": [path.read_bytes() for path in (ROOT / "zoo").glob("*.onnx")],
        "text": [path.read_bytes() for path in (ROOT / "docs").glob("*.txt")],
        "npy": [b"\x93NUMPY\x01\x00F\x00" + b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }".ljust(69) + b"\n" + bytes(24)],
    }

    def run(program):
        name = program.name.removeprefix("fuzz_")
        corpus = folder / name
        corpus.mkdir(parents=True, exist_ok=True)
        for index, seed in enumerate(seeds.get(name, [])):
            (corpus / f"seed{index}").write_bytes(seed)
        return command([program, f"-max_total_time={seconds}", f"-seed={SEED}", "-timeout=60", "-rss_limit_mb=4096",
                        f"-artifact_prefix={folder}/found-{name}-", corpus], name=program.name, timeout=seconds + 600)

    programs = sorted(path for path in (ROOT / "build/asan").glob("fuzz_*") if os.access(path, os.X_OK) and path.is_file())
    total = Counts(failures=[] if programs else ["there are no fuzz targets in build/asan"])
    with concurrent.futures.ThreadPoolExecutor(CORES) as pool:
        for found in pool.map(run, programs):
            total.add(found)
    return total


def unit_tests(preset, timeout=1500, filter_=None, environment=None):
    """The GoogleTest program of a build, in shards: a few for each core, so that none is left with the longest tests."""
    program = ROOT / "build" / preset / "longshore_tests"
    shards = 4 * CORES
    total = Counts()

    def shard(index):
        with tempfile.NamedTemporaryFile(suffix=".xml") as report:
            env = dict(os.environ, GTEST_TOTAL_SHARDS=str(shards), GTEST_SHARD_INDEX=str(index), **(environment or {}))
            arguments = [program, "--gtest_brief=1", f"--gtest_output=xml:{report.name}", f"--gtest_random_seed={SEED}"]
            if filter_:
                arguments.append(f"--gtest_filter={filter_}")
            try:
                done = subprocess.run(list(map(str, arguments)), cwd=ROOT, env=env, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, text=True, errors="replace", timeout=timeout)
                code, output = done.returncode, done.stdout
            except subprocess.TimeoutExpired as late:
                code, output = "none: stopped after a time limit", (late.stdout or b"").decode(errors="replace")
            try:
                return code, output, xml.etree.ElementTree.parse(report.name).getroot()
            except xml.etree.ElementTree.ParseError:
                return code, output, None

    with concurrent.futures.ThreadPoolExecutor(CORES) as pool:
        for index, (code, output, report) in enumerate(pool.map(shard, range(shards))):
            if report is None:
                total.output += output[-8000:] + "\n"
                total.failures.append(f"{preset} unit tests, shard {index}: no report, exit code {code}")
                continue
            failed = 0
            for test in report.iter("testcase"):
                name = f"{preset} {test.get('classname')}.{test.get('name')}"
                failure, skip = test.find("failure"), test.find("skipped")
                if failure is not None:
                    failed += 1
                    total.failures.append(name + ": " + failure.get("message", "").replace("\n", " ")[:300])
                elif skip is not None:
                    total.skips.append(name + ": " + skip.get("message", "").strip().split("\n")[-1])
                elif test.get("result") == "completed":
                    total.passed += 1
            if failed or code != 0:
                total.output += output[-12000:] + "\n"
            if code != 0 and not failed:
                total.failures.append(f"{preset} unit tests, shard {index}: exit code {code}")
    if not total.passed:
        total.failures.append(f"{preset} unit tests: none ran" + (f" that {filter_} names" if filter_ else ""))
    return total


def plain_commands():
    """The compile commands of the release build, one for each file of a group, without GCC's precompiled headers: clang
    cannot read those, and a file that leans on them for what it does not include itself must be found."""
    commands = []
    for entry in json.load(open(ROOT / "build/release/compile_commands.json")):
        if "cmake_pch" in entry["file"]:
            continue
        plain = re.sub(r" -include \S+/cmake_pch\.hxx\b", "", entry["command"])
        group = pathlib.Path(entry["file"])
        members = [entry["file"]]
        if group.parent == ROOT / "build/release/groups":
            names = re.findall(r'#include "(.*)"', group.read_text())
            members = [str(folder / name) for name in names for folder in (ROOT / "src", ROOT / "tests") if (folder / name).exists()]
        commands += [dict(entry, file=file, command=plain.replace(entry["file"], file)) for file in members]
    return commands


def changed_files():
    """Ours that differ from where this branch left the remote's main branch, or else from ten commits ago."""
    def git(*arguments):
        return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True).stdout.split()

    head, base = git("rev-parse", "HEAD"), git("merge-base", "HEAD", "origin/HEAD")
    if not base or base == head:
        base = git("rev-list", "--first-parent", "-n", "11", "HEAD")[-1:]
    return git("diff", "--name-only", "--diff-filter=d", *base, "--", "src/**.cpp", "tools/**.cpp") if base else []


def clang_tidy(full):
    """The checks of .clang-tidy on files that changed: a file takes seconds, so of many only some, drawn by the seed."""
    commands = ROOT / "build/release/clang-tidy/compile_commands.json"
    commands.parent.mkdir(exist_ok=True)
    commands.write_text(json.dumps(plain_commands()))
    known = {entry["file"] for entry in plain_commands()}
    files = [f for f in changed_files() if str(ROOT / f) in known]
    chosen = random.Random(SEED).sample(files, min(len(files), 60 if full else 8))
    total = Counts(output=f"{len(chosen)} of {len(files)} changed files\n")
    with concurrent.futures.ThreadPoolExecutor(CORES) as pool:
        for found in pool.map(lambda f: command(["clang-tidy", "-p", commands.parent, "--quiet", f]), chosen):
            total.add(found)
    return total


def oracle(script, full):
    """A comparison with another engine: prints PASS, FAIL or SKIP lines, one for each comparison."""
    python = subprocess.run([ROOT / "script/oracle_env"], capture_output=True, text=True, cwd=ROOT)
    if python.returncode != 0:
        return Counts(skips=[f"{script.name}: no reference environment ({python.stderr.strip().splitlines()[-1:]})"])
    done = subprocess.run([python.stdout.strip(), script, *(["--full"] if full else [])], cwd=ROOT, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace")
    total = Counts()
    for line in done.stdout.splitlines():
        if line.startswith("PASS "):
            total.passed += 1
        elif line.startswith("FAIL "):
            total.failures.append(f"{script.name}: {line[5:]}")
        elif line.startswith("SKIP "):
            total.skips.append(f"{script.name}: {line[5:]}")
    total.output = done.stdout[-6000:] + "\n"
    if done.returncode != 0 and not total.failures:
        total.failures.append(f"{script.name}: exit code {done.returncode}")
    return total


def stages(full):
    """Everything that runs, in order: lists of parts that may run beside each other, each a name and a function that gives
    Counts. What uses all cores by itself stands alone."""
    oracles, scripts = (sorted((ROOT / "tests" / folder).glob("*.py")) for folder in ("oracle", "scripts"))
    found = [
        # The models come from the network while the compiler works.
        [("release build", lambda: build("release")),
         ("models", lambda: command([ROOT / "script/models"], name="script/models")),
         ("layers", lambda: command([ROOT / "script/check_layers"])),
         ("format", lambda: command(["bash", "-c", "git ls-files '*.cpp' '*.hpp' '*.h' | xargs clang-format --dry-run -Werror"],
                                    name="clang-format"))],
        [("unit tests", lambda: unit_tests("release"))],
        [("instruction sets", lambda: command([ROOT / "script/check_isa"])),
         ("linkage", lambda: command([ROOT / "script/check_linkage"]))],
        [("smallest runtime", lambda: build("runtime"))],
        [("clang-tidy", lambda: clang_tidy(full))],
        [(f"oracle {path.stem}", lambda path=path: oracle(path, full)) for path in oracles],
        [(f"script {path.stem}", lambda path=path: script(path)) for path in scripts],
        [("asan build", lambda: build("asan"))],
        [("sanitizers", lambda: unit_tests("asan", timeout=2400))],
        [("fuzz", lambda: fuzz(60 if full else 5))],
    ]
    if full:
        found += [
            [("tsan build", lambda: build("tsan", "longshore_tests"))],
            [("thread sanitizer", lambda: unit_tests("tsan", timeout=2400, filter_="Threads.*:WeightsOnce.*"))],
        ]
    return found


def could_not_run(skips):
    """Of these reasons to skip, those that are none under --strict."""
    return [f"could not run: {skip}" for skip in skips if not any(re.search(reason, skip) for reason in GOOD_REASONS)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="also the long tests (LONGSHORE_FULL=1)")
    parser.add_argument("--strict", action="store_true", help="what could not run is a failure")
    parser.add_argument("--only", metavar="NAME", help="only the parts whose name contains NAME")
    parser.add_argument("--seed", type=int, help="of the random tests, to repeat a run")
    options = parser.parse_args()
    global SEED
    SEED = options.seed or SEED
    print(f"seed {SEED}")
    if options.full:
        os.environ["LONGSHORE_FULL"] = "1"

    def timed(part):
        name, run = part
        start = time.monotonic()
        return name, run(), time.monotonic() - start

    total = Counts()
    for stage in stages(options.full):
        chosen = [(name, run) for name, run in stage if not options.only or options.only in name]
        if not chosen:
            continue
        print(f"== {', '.join(name for name, _ in chosen)}", flush=True)
        build_failed = False
        with concurrent.futures.ThreadPoolExecutor(CORES) as pool:
            for done in concurrent.futures.as_completed([pool.submit(timed, part) for part in chosen]):
                name, found, seconds = done.result()
                total.add(found)
                print(f"{found.output}   {name}: {found.passed} passed, {len(found.failures)} failed, {len(found.skips)} skipped "
                      f"({seconds:.0f} s)", flush=True)
                build_failed = build_failed or (name.endswith(" build") and bool(found.failures))
        if build_failed:
            break

    paths = sorted({match for skip in total.skips for match in re.findall(r"this machine has no (\w+)", skip)})
    print(f"CPU paths that this machine could not run: {', '.join(paths) or 'none'}")
    if options.strict:
        total.failures += could_not_run(total.skips)
    for skip in total.skips[:40]:
        print(f"skipped: {skip}")
    for failure in total.failures:
        print(f"FAILED: {failure}")
    print(f"{total.passed} passed, {len(total.failures)} failed, {len(total.skips)} skipped")
    return 1 if total.failures or not total.passed else 0


if __name__ == "__main__":
    sys.exit(main())
