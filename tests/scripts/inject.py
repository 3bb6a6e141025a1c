#!/usr/bin/env python3
"""200 times, one operand of one instruction of a shipped program is changed at random: the verifier refuses the program, or
`compare` fails at that layer or one that reads those bytes, or the change is proved to be dead or timing-only. Prints how many
of each; an injected change that goes unnoticed is a failure, and so are many that are not shown. inject.py FIRST_SEED runs other seeds."""
import collections
import concurrent.futures
import json
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import cli  # noqa: E402

cli.with_oracle()
import small_net  # noqa: E402

check = cli.Checks()
first = int(sys.argv[1]) if len(sys.argv) > 1 else 1
MOST_NOT_SHOWN = 10  # such as a clamp that no code reaches, or an address of the same bytes
ENOUGH = 20  # changes that reach the comparison: the verifier refuses more than half


def inject(bundle, net):
    done = cli.run("compare", bundle, "--json")
    check.that(done.returncode == 0, f"{net}: the program as built agrees in every byte", done.stdout[-500:] + done.stderr[-500:])
    answer = json.loads(done.stdout.splitlines()[-1])
    check.that(answer["npu_layers"] >= 10 and answer["different_bytes"] == 0 and answer["bytes_compared"] > 0,
               f"{net}: much of it runs on the NPU", answer)
    seeds = range(first, first + 200)
    counts, operations = collections.Counter(), collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        judge(net, counts, operations, pool.map(lambda s: (s, cli.run("compare", bundle, "--inject", s, "--json")), seeds))
    print(f"{net}, seeds {seeds[0]} to {seeds[-1]}: " + ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common()))
    print(f"{net}: " + ", ".join(f"{count} {operation}" for operation, count in operations.most_common()))
    check.that(counts["not shown"] <= MOST_NOT_SHOWN, f"{net}: few changes have neither a difference nor a proof", counts)
    check.that(counts["different"] >= ENOUGH, f"{net}: enough of the changes reach the comparison", counts)


def judge(net, counts, operations, results):
    for seed, done in results:
        name = f"{net}, seed {seed}"
        if not check.that(done.returncode in (0, 1) and done.stdout, name, f"exit code {done.returncode}: {done.stderr[-400:]}"):
            continue
        answer = json.loads(done.stdout.splitlines()[-1])
        injected = answer["injected"]
        verdict, what = injected["verdict"], f"{injected['instruction']} {injected['operand']}: {injected['before']} -> {injected['after']}"
        counts[verdict] += 1
        operations[injected["operation"]] += 1
        check.that(injected["why"], name, f"{what}: {verdict} without a reason")
        if verdict == "different":
            difference = answer["first_difference"]
            check.that(done.returncode == 1 and answer["different_bytes"] > 0, name, f"{what}: exit code {done.returncode}")
            check.that(difference and difference["layer"] in injected["layers"] + injected["readers"], name,
                       f"{what}: it fails at {difference}, which is neither of {injected['layers']} nor of {injected['readers']}")
        elif verdict == "stopped":
            check.that(done.returncode == 1, name, f"{what}: exit code {done.returncode}")
        elif verdict == "not shown":
            check.that(done.returncode == 1, name, f"{what}: exit code {done.returncode}")
        else:
            check.that(verdict in ("refused by the verifier", "dead", "timing-only"), name, f"{what}: {verdict} ({injected['why']})")
            check.that(done.returncode == 0, name, f"{what}: {verdict}, but exit code {done.returncode}")


with tempfile.TemporaryDirectory() as scratch:
    here = pathlib.Path(scratch)
    many, zoo = small_net.many_forms(here / "net.onnx"), cli.ROOT / "zoo"
    for model, target, precision in ((many, "shore-1", "int8"), (many, "rk3588-like", "int8"), (many, "rk3588-like", "int16"),
                                     (zoo / "resnet8_fashion.onnx", "shore-1", "int8"), (zoo / "resnet8_fashion.onnx", "shore-1", "int16x16"),
                                     (zoo / "mobilenetv2_fashion.onnx", "rk3588-like", "int8")):
        bundle = here / "net.lsb"
        done = cli.run("build", model, "--target", target, "--precision", precision, "--force", "*=npu", "-o", bundle)
        if check.that(done.returncode == 0, f"{model.name} for {target} in {precision}: build", done.stderr):
            inject(bundle, f"{model.stem} for {target} in {precision}")
sys.exit(check.finish())
