#!/usr/bin/env python3
"""What a first user met: options that did nothing, prices made of unknown dims, messages that named the wrong thing, and
files written over what was no file."""
import json
import os
import pathlib
import pty
import re
import resource
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import cli  # noqa: E402

cli.with_oracle()
import small_net  # noqa: E402
import numpy  # noqa: E402
import onnx  # noqa: E402
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from PIL import Image  # noqa: E402

check = cli.Checks()
NPU = "rk3588-like"


def model(path, nodes, constants=(), shape=(1, 3, 8, 8)):
    """Writes a model with input `x` and output `y`."""
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], list(constants))
    path.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString())
    return path


def conv_net(path, shape=(1, 3, 8, 8), name="first_conv"):
    rng = numpy.random.default_rng(1)
    weights = numpy_helper.from_array(rng.standard_normal((4, 3, 3, 3)).astype(numpy.float32), "w")
    return model(path, [helper.make_node("Conv", ["x", "w"], ["c"], name=name, pads=[1, 1, 1, 1]),
                        helper.make_node("MaxPool", ["c"], ["y"], name="last_pool", kernel_shape=[2, 2], strides=[2, 2])], [weights], shape)


def answers(name, done, out=(), err=(), never=(), code=0):
    """It ended with that code and said these words, none of the others."""
    problems = [f"exit code {done.returncode}, expected {code}"] if done.returncode != code else []
    problems += [f"stdout lacks '{w}'" for w in out if str(w) not in done.stdout]
    problems += [f"stderr lacks '{w}'" for w in err if str(w) not in done.stderr]
    problems += [f"it says '{w}'" for w in never if str(w) in done.stdout + done.stderr]
    return check.that(not problems, name, "; ".join(problems) + f"\n  stdout: {done.stdout[-500:]}\n  stderr: {done.stderr[-500:]}")


def as_json(done):
    """The last line of stdout; numbers that are none are an error."""
    def no(word):
        raise ValueError(f"{word} in JSON")
    try:
        return json.loads(done.stdout.strip().splitlines()[-1], parse_constant=no)
    except (ValueError, IndexError) as e:
        check.that(False, f"JSON of {done.args[1:]}", f"{e}: {done.stdout[-300:]} {done.stderr[-300:]}")
        return {}


def test_open_dims(here):
    file = conv_net(here / "open.onnx", ("batch", 3, "height", "width"))
    for target in ("cpu", NPU):
        check.refuses(f"{target}: open dims", cli.run("build", file, "--target", target),
                      ["open.onnx", "'x'", "--dim height=n --dim width=n"], never=["predicted"])
        done = cli.run("build", file, "--target", target, "--dim", "height=8", "--dim", "width=8")
        answers(f"{target}: an open batch is 1, and said", done, ["predicted"], ["--dim batch=N"])
    check.refuses("a dim of 0", cli.run("run", file, "--dim", "batch=0"), ["batch", "'0'"])
    check.refuses("a dim given twice", cli.run("run", file, "--dim", "batch=1", "--dim", "batch=2"), ["batch", "twice"])
    relu = model(here / "relu.onnx", [helper.make_node("Relu", ["x"], ["y"])], shape=("batch", 3, "height", "width"))
    answers("random data of open dims says so", cli.run("run", relu, "--dim", "height=8"), err=["'x'", "--dim width=N"])
    nameless = conv_net(here / "nameless.onnx", (1, 3, None, None))
    check.refuses("dims without names", cli.run("build", nameless, "--target", NPU), ["--shape x=1,3,n,n"])
    answers("--shape closes them", cli.run("build", nameless, "--target", NPU, "--shape", "x=1,3,8,8"), ["predicted"])
    check.refuses("--shape against the model", cli.run("build", nameless, "--shape", "x=1,4,8,8"), ["--shape", "'x'"])
    check.refuses("a shape given twice", cli.run("run", relu, "--shape", "x=1,3,8,8", "--shape", "x=1,3,4,4"), ["'x'", "twice"])
    hidden = model(here / "hidden.onnx", [helper.make_node("Relu", ["x"], ["r"]), helper.make_node("NonZero", ["r"], ["n"]),
                                          helper.make_node("Cast", ["n"], ["y"], to=1)])
    for target in ("cpu", NPU):
        done = cli.run("build", hidden, "--target", target)
        answers(f"{target}: dims that only a run shows have no price", done, ["at least 0.00", "without 2 nodes", "?"], never=["-1.0 us", "-0.0"])
        told = as_json(cli.run("build", hidden, "--target", target, "--json"))
        none = [n["op"] for n in told["nodes"] if n["cpu_us"] is None and n["latency_ms"] is None]
        check.that(none == ["NonZero", "Cast"] and told["unpriced_nodes"] == 2 and told["latency_ms"] > 0, f"{target}: the same in JSON", str(told)[:300])
    check.refuses("--shape of no input", cli.run("build", nameless, "--shape", "z=1,4,8,8"), ["--shape", "'z'", "'x'"])


def test_buckets(here):
    """--buckets builds one program for each size, writes all or none, and tells what padding to them costs."""
    file, build = conv_net(here / "open.onnx", (1, 3, "height", 8)), ["--target", NPU, "--precision", "int8"]
    told = as_json(cli.run("build", file, *build, "--buckets", "height=64,16,32", "-o", here / "net.lsb", "--json"))
    # By hand: of lengths 1 to 16 the mean is 8.5, of 17 to 32 it is 24.5, of 33 to 64 it is 48.5.
    want = [(16, 1, 1 - 8.5 / 16, 15 / 16), (32, 17, 1 - 24.5 / 32, 15 / 32), (64, 33, 1 - 48.5 / 64, 31 / 64)]
    got = [(b["size"], b["from"], b["mean_padding"], b["most_padding"]) for b in told["buckets"]]
    check.that(numpy.allclose(got, want, rtol=1e-12), "padding of each bucket", got)
    # Of the 2080 elements of all lengths 16 * 16 + 16 * 32 + 32 * 64 are computed.
    check.that(abs(told["mean_padding"] - (1 - 2080 / 2816)) < 1e-12, "padding of all", told["mean_padding"])
    times = [b["latency_ms"] for b in told["buckets"]]
    check.that(abs(told["mean_ms"] - (16 * times[0] + 16 * times[1] + 32 * times[2]) / 64) < 1e-9, "the mean of their times", told["mean_ms"])
    for size, ms in zip((16, 32, 64), times):
        bundle = here / f"net-height_{size}.lsb"
        alone = as_json(cli.run("build", file, *build, "--dim", f"height={size}", "--json"))
        check.that(alone["latency_ms"] == ms, f"the program of {size} is that of --dim", (alone["latency_ms"], ms))
        answers(f"the bundle of {size}", cli.run("compare", bundle), [" 0 different"])
    answers("the table", cli.run("build", file, *build, "--buckets", "height=16,32", "-o", here / "b{}.lsb"),
            ["17 to 32", "equally likely", "b16.lsb", "b32.lsb"])
    for text, word in (("height", "no name="), ("height=", "''"), ("height=8,8", "8 twice"), ("height=8,0", "'0'"), ("=8", "no name=")):
        check.refuses(f"--buckets {text}", cli.run("build", file, *build, "--buckets", text), [word])
    check.refuses("buckets of no dimension", cli.run("build", file, *build, "--buckets", "width=8"), ["'width'", "'height'"])
    check.refuses("one report of several programs", cli.run("build", file, *build, "--buckets", "height=8", "--plan"), ["--plan", "--dim"])
    check.refuses("one that cannot be built", cli.run("build", file, *build, "--buckets", "height=1,16", "-o", here / "none.lsb"), ["last_pool"])
    check.that(not list(here.glob("none*")), "then none is written")


def test_ignored(here):
    file = conv_net(here / "m.onnx")
    numpy.save(here / "x.npy", numpy.random.default_rng(0).standard_normal((1, 3, 8, 8)).astype(numpy.float32))
    bundle = here / "m.lsb"
    answers("build", cli.run("build", file, "--target", NPU, "-o", bundle))
    check.refuses("--keep-float of nothing", cli.run("build", file, "--target", NPU, "--keep-float", "first_comv"),
                  ["first_comv", "near: 'first_conv'"])
    answers("--keep-float of an operator that is not there", cli.run("build", file, "--target", NPU, "--keep-float", "Softmax"),
            err=["Softmax", "no such operator"])
    environment = dict(os.environ, LONGSHORE_CPU="avx52")
    check.refuses("LONGSHORE_CPU", cli.run("run", file, env=environment), ["LONGSHORE_CPU", "avx52", "near: 'avx2'"])
    for command in (["run"], ["bench", "--seconds", "0.01"], ["compare"], ["build"], ["eval", "--data", here]):
        check.refuses(f"{command[0]}: --calibrate on a bundle", cli.run(*command, bundle, "--calibrate", here / "x.npy"),
                      ["--calibrate", "m.lsb"])
    answers("run: --calibrate without int8", cli.run("run", file, "--calibrate", here / "x.npy"), err=["--calibrate changes nothing"])
    (here / "two.txt").write_text("a\nb\n")
    answers("too few labels", cli.run("run", file, "--top", 1, "--labels", here / "two.txt"), err=["2 lines", "'y'"])
    answers("labels without --top", cli.run("run", file, "--labels", here / "two.txt"), err=["--labels", "--top"])
    check.refuses("--trace without NPU", cli.run("build", file, "--trace", here / "t.json"), ["--trace", "cpu"])
    check.that(not (here / "t.json").exists(), "no trace is left")
    check.refuses("--force without NPU", cli.run("build", file, "--force", "y=npu"), ["--force", "cpu"])
    check.refuses("--force without a unit", cli.run("build", file, "--target", NPU, "--force", "y"), ["--force y", "NODE=cpu or NODE=npu"])
    for unit, share in (("npu", 1.0), ("cpu", 0.0)):
        told = as_json(cli.run("build", file, "--target", NPU, "--force", f"*={unit}", "--json"))
        check.that(told["npu_mac_share"] == share, f"--force *={unit}", told["npu_mac_share"])
    chosen = here / "chosen.lsb"
    answers("choices", cli.run("build", file, "--target", NPU, "--force", "*=npu", "--without", "prefetch", "--without", "fusion", "-o", chosen))
    done = cli.run("compare", chosen)
    check.that(done.returncode == 0 and " 0 different" in done.stdout, "compare makes a program with choices again", done.stdout + done.stderr)
    check.refuses("--force of nothing", cli.run("build", file, "--target", NPU, "--force", "nothing=cpu"), ["--force nothing=cpu"])
    check.refuses("--plan without NPU", cli.run("build", file, "--plan"), ["--plan", "cpu"])
    for command in ("run", "bench", "eval"):
        help_text = cli.run(command, "--help").stdout
        check.that("bf16" not in help_text, f"{command} --help offers no bf16")
        check.that("auto, cpu, reference, or sim" in " ".join(help_text.split()), f"{command} --help: one --on for all", help_text[-600:])
    check.refuses("--precision fp16", cli.run("build", file, "--precision", "fp16"), ["fp16", "half-precision", "int16"])
    wide = here / "wide.lsb"
    answers("--precision int16", cli.run("build", file, "--target", NPU, "--precision", "int16", "-o", wide, "--dump", here / "wide"))
    codes = "".join(path.read_text() for path in (here / "wide").glob("*quantised.txt"))
    check.that(": i16[" in codes and "= Conv" in codes, "--precision int16 makes 16-bit activations", codes)
    done = cli.run("compare", wide)
    check.that(done.returncode == 0 and " 0 different" in done.stdout, "compare of 16-bit codes", done.stdout + done.stderr)
    check.refuses("--precision of a bundle", cli.run("build", wide, "--target", NPU, "--precision", "int8"), ["--precision is for models"])
    check.refuses("--precision of a bundle in bench", cli.run("bench", wide, "--precision", "int8"), ["came quantised to int16"])
    check.refuses("--node-precision of nothing", cli.run("build", file, "--target", NPU, "--node-precision", "nothing=int16"), ["--node-precision nothing"])
    check.refuses("--node-precision int3", cli.run("build", file, "--target", NPU, "--node-precision", "Conv=int3"), ["int16 or int16x16", "int3"])
    check.refuses("--node-precision alone", cli.run("build", file, "--target", NPU, "--node-precision", "Conv"), ["--node-precision Conv", "NAME=int16x16"])
    check.refuses("--precision bf16", cli.run("bench", file, "--precision", "bf16"), ["bf16"], code=64)


def test_nothing_compared(here):
    """What compared nothing has shown nothing."""
    numpy.save(here / "x.npy", numpy.zeros((1, 3, 8, 8), numpy.float32))
    through = model(here / "through.onnx", [helper.make_node("IsNaN", ["x"], ["n"]), helper.make_node("Cast", ["n"], ["y"], to=9)])
    answers("int8 against float of what has no floats", cli.run("compare", through, "--calibrate", here / "x.npy"), ["no layer was compared"], code=1)


def test_clocks(here):
    file, bundle, host = conv_net(here / "m.onnx"), here / "m.lsb", here / "host.lsb"
    cli.run("build", file, "--target", NPU, "-o", bundle)
    cli.run("build", file, "-o", host)
    fast = ["--seconds", "0.01"]
    answers("bench of an NPU's bundle", cli.run("bench", bundle, *fast), [f"target {NPU}:", "predicted", "simulator"], never=["avx"])
    told = as_json(cli.run("bench", bundle, "--json", *fast))
    check.that(told.get("on") == "sim" and told.get("predicted_ms", 0) > 0 and "simulator" in told.get("clock", ""), "bench --json on sim", told)
    run = as_json(cli.run("run", bundle, "--json"))
    check.that(run.get("predicted_ms") == run.get("latency_ms") == told.get("predicted_ms"), "run and bench predict the same", run)
    told = as_json(cli.run("bench", bundle, "--on", "cpu", "--json", *fast))
    check.that(told.get("on") == "cpu" and told.get("predicted_ms") is None and "measured" in told.get("clock", ""), "bench --on cpu", told)
    answers("bench of a model", cli.run("bench", file, *fast), ["this CPU, measured"], never=["predicted"])
    answers("bench of the CPU's bundle", cli.run("bench", host, *fast), ["target cpu:", "predicted", "this CPU, measured"])


def test_messages(here):
    file = conv_net(here / "m.onnx")
    picture = Image.fromarray(numpy.random.default_rng(2).integers(0, 255, (8, 8, 3), dtype=numpy.uint8))
    kinds = {"webp": "WebP", "gif": "GIF", "bmp": "BMP", "tiff": "TIFF"}
    for ending, kind in kinds.items():
        picture.save(here / f"p.{ending}")
    (here / "s.wav").write_bytes(b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0" + b"\0" * 40)
    for ending, kind in {**kinds, "wav": "WAV"}.items():
        path = here / (f"s.{ending}" if ending == "wav" else f"p.{ending}")
        for name, done in (("input", cli.run("run", file, "--input", path)), ("calibration", cli.run("build", file, "--target", NPU, "--calibrate", path)),
                           ("model", cli.run("run", path))):
            check.refuses(f"{ending} as {name}", done, [path, kind.lower()], never=["ONNX file, or a damaged one"])
            line = done.stderr.strip().splitlines()[-1]
            check.that(line.count(str(path)) == 1, f"{ending} as {name}: the path once", line)
    picture.convert("CMYK").save(here / "c.jpg")
    check.refuses("a CMYK JPEG", cli.run("run", file, "--input", here / "c.jpg"), ["c.jpg", "cmyk"], never=["conversion request"])
    (here / "broken.png").write_bytes(b"\0\1\2 no picture")
    done = cli.run("run", file, "--input", here / "broken.png")
    check.refuses("a broken picture", done, ["broken.png", "png"], never=["TensorProto"])
    check.that(done.stderr.count("broken.png") == 1, "its path once", done.stderr)
    many = here / "many"
    many.mkdir()
    for i in range(30):
        (many / f"bad_{i:02}.png").write_bytes(b"\x89PNG\r\n\x1a\nxx")
    done = cli.run("build", file, "--target", NPU, "--calibrate", many)
    check.refuses("thirty broken samples", done, ["bad_00.png", "30"])
    check.that(len(done.stderr) < 400 and done.stderr.count("bad_") == 1, "one of them is named, once", done.stderr)
    check.refuses("an option in place of a command", cli.run("--bogus"), ["'--bogus'"], code=64, never=["subcommand"])
    check.refuses("--calibrate for no input", cli.run("build", file, "--target", NPU, "--calibrate", f"z={here / 'x.npy'}"),
                  ["'z'", "'x'"], never=["no such file"])


def test_options(here):
    file = conv_net(here / "m.onnx")
    answers("options before the model", cli.run("run", "--mean", "127", "--std", "128", file), ["y: f32"])
    answers("a list for each channel", cli.run("run", "--mean", "1,2,3", "--std", "4,5,6", file), ["y: f32"])
    for option, value in (("--mean", "nan"), ("--std", "inf"), ("--mean", "1,,2"), ("--std", "1,x"), ("--mean", "")):
        check.refuses(f"{option} {value}", cli.run("run", file, option, value), [option], code=64)
    check.refuses("--resize nonsense", cli.run("run", file, "--resize", "zoom"), ["--resize", "zoom", "stretch,crop,letterbox"], code=64, never=["->"])
    for option in ("-o", "--trace", "--dump"):
        check.refuses(f"{option} of nothing", cli.run("build", file, "--target", NPU, option, ""), [], code=64)
    check.refuses("--output-dir of nothing", cli.run("run", file, "--output-dir", ""), [], code=64)


def test_json(here):
    file, bundle = conv_net(here / "m.onnx"), here / "m.lsb"
    told = as_json(cli.run("build", file, "--target", NPU, "--json"))
    check.that(told.get("bundle", "") is None and any("RANDOM" in w for w in told.get("warnings", [])), "build --json", told.get("warnings"))
    told = as_json(cli.run("build", file, "--target", NPU, "-o", bundle, "--json"))
    check.that(told.get("bundle") == str(bundle), "build --json -o", told.get("bundle"))
    told = as_json(cli.run("run", file, "--json"))
    check.that(any("random data for 'x'" in w for w in told.get("warnings", [])), "run --json: whose data is random", told.get("warnings"))
    told = as_json(cli.run("compare", bundle, "--all", "--json"))
    for arguments in (["bench", file, "--seconds", "0.01"], ["compare", file], ["inspect", file], ["ops"], ["targets"]):
        told_too = as_json(cli.run(*map(str, arguments), "--json"))
        check.that(isinstance(told_too.get("warnings"), list), f"{arguments[0]} --json has its warnings", str(told_too)[:200])
    check.that(told.get("by_layer") and all(not isinstance(layer[key], str) for layer in told["by_layer"] for key in ("sqnr_db", "max_abs", "cosine")),
               "compare --json: numbers are numbers", str(told)[:300])


def test_top(here):
    scores = model(here / "scores.onnx", [helper.make_node("Identity", ["x"], ["y"])], shape=(1, 4))
    x = numpy.log(numpy.array([[0.1, 0.2, 0.3, 0.4]], numpy.float32))
    numpy.save(here / "x.npy", x)
    done = cli.run("run", scores, "--input", here / "x.npy", "--top", 2)
    answers("logits as per cent", done, ["3  40.00 %", "2  30.00 %"])
    numpy.save(here / "p.npy", numpy.array([[0.5, 0.25, 0.25, 0]], numpy.float32))
    answers("probabilities as per cent", cli.run("run", scores, "--input", here / "p.npy", "--top", 1), ["0  50.00 %"])
    grid = model(here / "grid.onnx", [helper.make_node("Identity", ["x"], ["y"])], shape=(1, 3, 5))
    g = numpy.zeros((1, 3, 5), numpy.float32)
    g[0, 2, 1] = 7
    numpy.save(here / "g.npy", g)
    (here / "labels.txt").write_text("a\nb\nc\nd\ne\n")
    done = cli.run("run", grid, "--input", here / "g.npy", "--top", 1, "--labels", here / "labels.txt")
    answers("an index on each axis, a label of the last", done, ["[0,2,1] b  7"], never=["%"])
    told = as_json(cli.run("run", grid, "--input", here / "g.npy", "--top", 1, "--json"))
    check.that(told["outputs"][0]["top"][0]["at"] == [0, 2, 1] and told["outputs"][0]["top"][0]["index"] == 11, "the same in JSON", told["outputs"])


def test_table(here):
    long = "/backbone/stage_with_a_long_name/block.3/inner/conv2/Conv"
    file = conv_net(here / "m.onnx", name=long)
    done = cli.run("build", file, "--target", NPU)
    wide = [line for line in done.stdout.splitlines() if len(line) > 80 and not line.startswith("      ")]
    check.that(not wide, "rows within 80 columns", wide[:3])
    row = next((line for line in done.stdout.splitlines() if "Conv " in line), "")
    check.that(row.startswith("/back") and "conv2/Conv" in row, "a name keeps its beginning and its end", row)
    rows = [helper.make_node("Conv", ["x", "w"], ["c"], name="conv", pads=[1, 1, 1, 1]), helper.make_node("IsNaN", ["c"], ["n"], name="nan"),
            helper.make_node("Cast", ["n"], ["k"], name="numbers", to=1), helper.make_node("Add", ["k", "k"], ["y"], name="twice")]
    weights = numpy_helper.from_array(numpy.full((4, 3, 3, 3), 0.1, numpy.float32), "w")
    numpy.save(here / "x.npy", numpy.random.default_rng(0).standard_normal((1, 3, 8, 8)).astype(numpy.float32))
    done = cli.run("build", model(here / "float.onnx", rows, [weights]), "--target", NPU, "--calibrate", here / "x.npy")
    answers("why a node stays float", done, ["has no int8 form", "its input is float because of 'numbers' (Cast)"],
            never=["not quantised", "quantise it: --calibrate"])
    rng = numpy.random.default_rng(0)
    constants = [numpy_helper.from_array(rng.standard_normal(dims).astype(numpy.float32), name) for name, dims in
                 (("w", (4, 3, 3, 3)), ("wt", (4, 2, 2, 2)), ("g", (16,)), ("b", (16,)), ("lw", (1, 16, 16)), ("lr", (1, 16, 4)))]
    constants += [numpy_helper.from_array(numpy.array(v, numpy.int64), name) for name, v in (("i", [0, 2]), ("t", [4, 16, 16]))]
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], name="conv", pads=[1, 1, 1, 1]), helper.make_node("ConvTranspose", ["c", "wt"], ["ct"], name="up", strides=[2, 2], group=2),
             helper.make_node("Relu", ["ct"], ["r"]), helper.make_node("Reshape", ["r", "t"], ["re"]), helper.make_node("LayerNormalization", ["re", "g", "b"], ["ln"]),
             helper.make_node("LSTM", ["ln", "lw", "lr"], ["ls"], hidden_size=4), helper.make_node("Gather", ["ls", "i"], ["ga"]),
             helper.make_node("Cast", ["i"], ["ic"], to=1), helper.make_node("ReduceSum", ["ic"], ["is"], keepdims=0), helper.make_node("Mul", ["ga", "is"], ["y"])]
    told = as_json(cli.run("build", model(here / "many.onnx", nodes, constants), "--target", NPU, "--calibrate", here / "x.npy", "--json"))
    wrong = [(n["op"], r) for n in told["nodes"] for r in n["reasons"] if "--calibrate" in r["change"] or "replace" in r["change"] or "do without" in r["change"] or not r["change"]]
    check.that(not wrong, "no advice to quantise what was calibrated, or to do without", wrong[:3])
    for op, text, change in (("ConvTranspose", "has no int8 form", "give ConvTranspose an integer form"), ("Relu", "float because of 'up' (ConvTranspose)", "give ConvTranspose"),
                             ("LSTM", "no form of an NPU does LSTM", "write a form for LSTM")):
        reasons = [r for n in told["nodes"] if n["op"] == op for r in n["reasons"]]
        check.that(any(text in r["text"] and change in r["change"] for r in reasons), f"why {op} is float, and what would help", reasons)
    answers("keep-float", cli.run("build", model(here / "kept.onnx", rows, [weights]), "--target", NPU, "--calibrate", here / "x.npy", "--keep-float", "Conv"),
            ["--keep-float names it; do not keep 'conv' float"])


def test_summary(here):
    """Of many nodes the dearest and the kinds of fallbacks are shown; they add up to what --json says of each node."""
    net = cli.ROOT / "zoo/mobilenetv2_fashion.onnx"
    keep = ["build", net, "--target", NPU, "--keep-float", "Add"]
    text, told = cli.run(*keep).stdout, as_json(cli.run(*keep, "--json"))
    nodes = told["nodes"]
    for heading, border in (("on the CPU", False), ("floats and codes", True)):
        host = [node for node in nodes if node["unit"] == "cpu" and (node["kept_by"] == "border") == border]
        head = re.search(rf"^{heading}: (\d+) nodes +([\d.]+) +[\d.]+$", text, re.M)
        kinds = re.findall(r"^ +(\d+) (\S+) .* ([\d.]+) +[\d.]+$", text[head.end():].split("\n\n")[0], re.M)
        check.that(int(head[1]) == len(host) == sum(int(kind[0]) for kind in kinds), f"{heading}: every node is counted", text)
        check.that(abs(float(head[2]) - 1000 * sum(node["latency_ms"] for node in host)) < 0.1, f"{heading}: their times are added up", text)
        for op in {kind[1] for kind in kinds}:  # in a row for each kind of reason
            counted = sum(int(kind[0]) for kind in kinds if kind[1] == op)
            check.that(counted == sum(node["op"] == op for node in host), f"{heading}: every {op} is counted", text)
    first = text.splitlines()[1].split()[0]
    check.that(max(nodes, key=lambda node: node["latency_ms"])["name"] == first, "the dearest is first", text)
    check.that(len(text.splitlines()) <= 50 and max(map(len, text.splitlines())) <= 80, "it fits on a screen", text)
    listed = cli.run(*keep, "--layers").stdout
    check.that(len(listed.splitlines()) > len(nodes) and "price:" in listed, "--layers lists all", listed)


def test_report(here):
    """What the report says of each layer adds up to what it says of the whole, as text, JSON and Markdown."""
    net, page = cli.ROOT / "zoo/mobilenetv2_fashion.onnx", here / "report.md"
    build = ["build", net, "--target", NPU]
    done = cli.run(*build, "--json", "--markdown", page)
    told, text = as_json(done), cli.run(*build, "--layers").stdout
    nodes, moved = told["nodes"], told["dram_read_bytes"] + told["dram_write_bytes"]
    check.that(sum(sum(node["bytes"].values()) for node in nodes) == moved, "bytes of the layers are those that are moved", moved)
    working = [node for node in nodes if node["latency_ms"] > 0 and "fused_into" not in node]
    bounds = {node["bound_by"] for node in working}
    check.that(bounds <= {"mac", "vector", "dma in", "dma out", "dispatch", "host"}, "what works is bound by something", bounds)
    check.that(all((node["bound_by"] == "host") == (node["unit"] == "cpu") for node in working), "the host bounds what the CPU runs", working)
    check.that(all(0 < node["mac_utilisation"] <= 1 for node in working if node["macs"] and node["unit"] == "npu"), "no array does more than it can", working)
    check.that(0 < sum(node["energy_uj"] for node in nodes) <= told["energy_uj"], "energy of the layers is part of the whole", told["energy_uj"])
    roof = told["roofline"]
    check.that(0 < roof["constants_ms"] < roof["dram_ms"] and 0 < roof["reached"] < 1 and 0 < roof["reached_tops"] < roof["peak_tops"], "below the roof", roof)
    check.that(abs(roof["reached"] - max(roof["compute_ms"], roof["dram_ms"]) / told["latency_ms"]) < 1e-9, "the roof's share of the time", roof)
    check.that(0 < told["movement_share"] < 1 and f"{told['movement_share']:.1%}".replace("%", " %") in text, "the share that only moves data", told["movement_share"])
    rows = [[cell for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in page.read_text().splitlines() if line.startswith("|")]
    check.that(len(rows) == 2 + len(nodes) + 1 and len({len(row) for row in rows}) == 1, "Markdown has a row for each node, all as wide", [len(row) for row in rows])
    check.that("price:" in page.read_text() and f"{told['latency_ms']:.3f} ms" in page.read_text(), "with prices and totals", page.read_text()[-500:])
    wide = [line for line in text.splitlines() if len(line) > 80]
    check.that(not wide, "--layers within 80 columns", wide[:3])
    svg, trace = here / "t.svg", here / "t.json"
    answers("--timeline", cli.run(*build, "--timeline", svg, "--trace", trace))
    drawn = xml.etree.ElementTree.parse(svg).getroot()
    bars, events = list(drawn.iter("{http://www.w3.org/2000/svg}title")), [e for e in json.loads(trace.read_text())["traceEvents"] if e["ph"] == "X"]
    shown = sum(int(found[1]) if (found := re.search(r": (\d+) bars, ", bar.text)) else 1 for bar in bars)
    check.that(shown == len(events) > 100, "every interval of the trace is in a bar", (shown, len(events)))
    check.refuses("--timeline without NPU", cli.run("build", net, "--timeline", svg), ["--timeline", "cpu", "has none"])
    bare = here / "bare.toml"
    bare.write_text('name = "bare"\nlike = "shore-1"\n')
    told = as_json(cli.run("build", net, "--target", bare, "--json", "--markdown", page))
    check.that(all(node["energy_uj"] is None for node in told["nodes"]) and "energy" not in page.read_text(), "no energy without the target's own numbers")
    answers("a report without an NPU", cli.run("build", net, "--markdown", page), ["node"])
    check.that("bound by" not in page.read_text() and "| node |" in page.read_text(), "its Markdown", page.read_text()[:300])


def test_memory(here):
    """--sram-cap keeps tiles below it, and --optimize size takes less memory for at most twice the time."""
    net, bundle = cli.ROOT / "zoo/resnet8_fashion.onnx", here / "small.lsb"
    build = ["build", net, "--target", NPU]
    capped = as_json(cli.run(*build, "--sram-cap", "64KiB", "--json"))
    check.that(0 < capped["sram_peak_bytes"] <= 64 * 1024, "--sram-cap is kept", capped["sram_peak_bytes"])
    check.refuses("a cap above the SRAM", cli.run(*build, "--sram-cap", "1GiB"), ["--sram-cap 1GiB", "at most", NPU])
    check.refuses("a cap that is no size", cli.run(*build, "--sram-cap", "much"), ["--sram-cap much", "192KiB"])
    check.refuses("a cap without NPU", cli.run("build", net, "--sram-cap", "64KiB"), ["--sram-cap", "cpu", "has none"])
    check.refuses("--optimize of nothing", cli.run(*build, "--optimize", "fast"), ["--optimize fast", "speed or size"])
    for model in (net, cli.ROOT / "zoo/mobilenetv2_fashion.onnx"):
        for target in (NPU, "systolic-32"):
            fast, small = (as_json(cli.run("build", model, "--target", target, "--optimize", goal, "--json")) for goal in ("speed", "size"))
            memory = [told["sram_peak_bytes"] + told["dram_peak_bytes"] for told in (fast, small)]
            check.that(memory[1] < memory[0], f"{model.stem} on {target}: size takes less memory", memory)
            times = [told["latency_ms"] for told in (fast, small)]
            check.that(times[0] <= times[1] <= 2 * times[0], f"{model.stem} on {target}: for at most twice the time", times)
    plain = as_json(cli.run(*build, "--json"))
    speed = as_json(cli.run(*build, "--optimize", "speed", "--json"))
    check.that(plain["latency_ms"] == speed["latency_ms"], "speed is the default")
    answers("a bundle of least memory", cli.run(*build, "--optimize", "size", "--sram-cap", "128KiB", "-o", bundle))
    done = cli.run("compare", bundle)
    check.that(done.returncode == 0 and " 0 different" in done.stdout, "compare makes a program of least memory again", done.stdout + done.stderr)


def test_cliffs(here):
    """cliffs finds where an array of 32 columns takes one pass more, and says nothing where there is nothing."""
    net = cli.ROOT / "zoo/resnet8_fashion.onnx"
    find = ["cliffs", net, "--target", "systolic-32", "--layers", "1"]
    text, told = cli.run(*find), as_json(cli.run(*find, "--json"))
    found = {(s["varied"], c["from"], c["better"]) for s in told["studies"] for c in s["cliffs"]}
    check.that(found and f"{len(told['studies'])} dimensions" in text.stdout, "it varies a layer's dimensions", text.stdout)
    for study in told["studies"]:
        times = {t["size"]: t["us"] for t in study["times"]}
        check.that(study["size"] in times, f"{study['varied']}: its own size is among those tried", study)
        for cliff in study["cliffs"]:
            low, high = times[cliff["from"]], times[cliff["to"]]
            check.that(max(low, high) > 1.3 * min(low, high) and times[cliff["better"]] == min(low, high), f"{study['varied']}: a jump between neighbours", cliff)
    answers("no cliff", cli.run(*find, "--factor", "99"), ["no time jumps by more than 99"])
    wide = [line for line in text.stdout.splitlines() if len(line) > 80]
    check.that(not wide, "its table within 80 columns", wide[:2])
    open_net = model(here / "rows.onnx", [helper.make_node("Relu", ["x"], ["y"])], shape=("n", 64))
    told = as_json(cli.run("cliffs", open_net, "--target", NPU, "--dim", "n=20", "--vary", "n", "--reach", "2", "--json"))
    check.that([t["size"] for t in told["studies"][0]["times"]] == [18, 19, 20, 21, 22], "--vary builds for each size", told)
    check.refuses("--vary without --dim", cli.run("cliffs", open_net, "--target", NPU, "--vary", "n"), ["--vary n", "--dim n=128"])
    check.refuses("cliffs without NPU", cli.run("cliffs", net, "--target", "cpu"), ["cliffs is about NPUs", "cpu"])


def test_columns(here):
    """Tables fit a terminal of 80 columns, and their rows add up."""
    file, bundle = conv_net(here / "m.onnx", name="/backbone/stage_with_a_long_name/block.3/inner/conv2/Conv"), here / "m.lsb"
    answers("build", cli.run("build", file, "--target", "shore-1", "-o", bundle))
    for arguments in (["build", file, "--target", "shore-1", "--plan"], ["compare", bundle, "--all"], ["compare", file, "--all"], ["run", bundle, "--timing-only"],
                      ["bench", file, "--seconds", "0.01"], ["targets"], ["targets", "shore-1"], ["ops"], ["inspect", file]):
        done = cli.run(*map(str, arguments))
        lines = [line for line in done.stdout.splitlines() if str(here) not in line]  # a path is as long as it is
        wide = [line for line in lines if len(line) > 80]
        check.that(lines and not wide and done.returncode == 0, f"{arguments[0]}: within 80 columns", wide[:3] or done.stderr)
    told = as_json(cli.run("build", file, "--target", "shore-1", "--json"))
    rows = sum(n["latency_ms"] for n in told["nodes"] if "fused_into" not in n)
    check.that(abs(rows + told["handover_ms"] - told["latency_ms"]) < 1e-6 * told["latency_ms"], "the rows and the hand-over are the total", (rows, told["handover_ms"], told["latency_ms"]))
    text = cli.run("build", file, "--target", "shore-1").stdout
    shares = [float(line.split()[-1]) for line in text.splitlines() if " cpu " in line or " npu " in line or "hand-over" in line if line.split()[-1].replace(".", "").isdigit()]
    check.that("hand-over" in text and abs(sum(shares) - 100) < 0.5, "so do the shares of the table", (shares, text))



def test_targets(here):
    file = conv_net(here / "m.onnx")
    target = here / "own.toml"

    def build(text, *options):
        target.write_text(text)
        return cli.run("build", file, "--target", target, *options)

    check.refuses("all that is missing, at once", build('name = "own"\n[npu.clock]\nmhz = 500\n'),
                  ["own.toml", "'npu.mac.rows'", "'npu.sram.bytes'", "'cpu.cores'", "'npu.rounding'", "`like ="])
    like = 'name = "own"\nlike = "shore-1"\n'
    for key in ("[npu.mac]\nalignment", "[npu.vector]\nalignment", "[npu.cache]\nline_bytes"):
        check.refuses(f"{key.split()} of 3", build(f"{like}{key} = 3\n"), ["own.toml:4", "power of two", "3"])
    check.refuses("stripes whose least is above their most", build(f"{like}[npu.mac]\nstripe_min = 64\nstripe_max = 32\n"), ["own.toml:4", "stripe_min", "64", "32"])
    check.refuses("activations that do not fit", build(f"{like}[npu.dram]\nbytes = 64\n"), ["activations and constants", "npu.dram.bytes", "64"])
    apart = f"{like}[npu.constants]\ngb_per_s = 0.5\nbytes = 16\n"
    check.refuses("constants that do not fit", build(apart), ["constants take", "npu.constants.bytes", "16"])
    check.refuses("activations alone that do not fit", build(f"{apart}[npu.dram]\nbytes = 64\n"), ["activations take", "npu.dram.bytes"])
    check.refuses("micro-blocks without pixels", build(f"{like}[npu.mac]\nmicro_width = 0\n"), ["own.toml:4", "micro_width", "1 to 256"])
    check.refuses("semaphores that cannot count", build(f"{like}[npu.control]\nsemaphore_limit = 1\n"), ["own.toml:4", "semaphore_limit", "1"])
    done = build(f'{like}[npu]\nrounding = ["fixed31_double"]\n', "-o", here / "own.lsb")
    answers("quantised in the target's mode", done, ["predicted"])
    answers("its bytes", cli.run("compare", here / "own.lsb"), [" 0 different"])
    answers("another chip's energy is not shown", build(like), ["predicted"], never=["energy"])
    answers("its own is", build(f"{like}[npu.energy]\nmac_pj = 1\n"), ["energy"])


def test_set(here):
    """--set is a target file without the file: the same predictions, the same messages."""
    file, target, bundle = conv_net(here / "m.onnx", (1, 3, 64, 64)), here / "own.toml", here / "m.lsb"
    target.write_text('name = "own"\nlike = "shore-1"\n[npu.sram]\nbytes = 8192\n[npu.dram]\ngb_per_s = 0.5\n')
    written = as_json(cli.run("build", file, "--target", target, "--json"))
    done = cli.run("build", file, "--target", "shore-1", "--set", "sram=8KiB", "--set", "dram.gb_per_s=0.5", "-o", bundle, "--json")
    told = as_json(done)
    check.that(told["set"] == {"sram.bytes": "8KiB", "dram.gb_per_s": "0.5"} and "set" not in written, "--json names what was set", told.get("set"))
    check.that(told["sram_bytes"] == 8192 and told["latency_ms"] == written["latency_ms"], "it predicts what the file would", (told["latency_ms"], written["latency_ms"]))
    plain = as_json(cli.run("build", file, "--target", "shore-1", "--json"))
    check.that(plain["latency_ms"] < told["latency_ms"], "and not what the target itself would", (plain["latency_ms"], told["latency_ms"]))
    answers("the bundle's machine has it", cli.run("compare", bundle), [" 0 different"])
    check.that(f"{told['latency_ms']:.3f} ms" in cli.run("run", bundle, "--timing-only").stdout, "the bundle is timed with it")
    answers("the summary names it", cli.run("build", file, "--target", "shore-1", "--set", "sram=8KiB"), ["set     sram.bytes = 8KiB"])
    answers("targets marks it", cli.run("targets", "shore-1", "--set", "sram=1MiB"), ["* sram.bytes ", "1048576", "  sram.banks ", "* not of the file"])
    check.that(as_json(cli.run("targets", "shore-1", "--set", "sram=1MiB", "--json"))["npu"]["sram"]["bytes"] == 1 << 20, "targets --json has it")
    for command in (["build", file, "--target", "shore-1"], ["targets", "shore-1"]):
        check.refuses(f"{command[0]}: --set out of range", cli.run(*command, "--set", "sram=1"), ["--set sram=1: npu.sram.bytes", "expected an integer from 1024", "found 1"])
        check.refuses(f"{command[0]}: --set of nothing", cli.run(*command, "--set", "srm=1"), ["--set srm=1", "unknown key 'srm'"])
    check.refuses("--set without NPU", cli.run("build", file, "--set", "sram=1MiB"), ["--set sram=1MiB", "a target with an NPU", "cpu"])
    check.refuses("--set without target", cli.run("targets", "--set", "sram=1MiB"), ["--set", "expected TARGET"])


def test_survey(here):
    """survey predicts for each target what build does, the fastest first, and goes on where one refuses."""
    file, small, tiny = conv_net(here / "m.onnx", (1, 3, 64, 64)), here / "small.toml", here / "tiny.toml"
    small.write_text('name = "small"\nlike = "shore-1"\n[npu.clock]\nmhz = 10\n')
    tiny.write_text('name = "tiny"\nlike = "shore-1"\n[npu.dram]\nbytes = 64\n')
    rows = as_json(cli.run("survey", file, "--target", small, "--target", "shore-1", "--target", tiny, "--json"))["targets"]
    check.that([r["target"] for r in rows] == ["shore-1", "small", "tiny"], "the fastest first, the refused last", [r["target"] for r in rows])
    for row, target in zip(rows, ("shore-1", small)):
        report = as_json(cli.run("build", file, "--target", target, "--json"))
        moved = report["dram_read_bytes"] + report["dram_write_bytes"]
        check.that((row["latency_ms"], row["npu_mac_share"], row["dram_bytes"]) == (report["latency_ms"], report["npu_mac_share"], moved), f"{row['target']}: as build", row)
    check.that("npu.dram.bytes" in rows[2]["refused"] and "latency_ms" not in rows[2], "the refused one says why", rows[2])
    answers("its table", cli.run("survey", file, "--target", "shore-1", "--target", tiny), ["shore-1 ", "tiny ", "npu.dram.bytes"])
    answers("refused by all", cli.run("survey", file, "--target", tiny), ["npu.dram.bytes"], code=1)
    check.refuses("survey of a target without NPU", cli.run("survey", file, "--target", "cpu"), ["survey is about NPUs", "cpu"])


def test_debug(here):
    """debug stops where it is told, and names the convolution that was changed."""
    bundle = here / "chain.lsb"
    answers("build", cli.run("build", small_net.chain(here / "chain.onnx"), "--target", NPU, "--precision", "int8", "--force", "*=npu", "-o", bundle))
    script = here / "script.txt"
    script.write_text("# to the second layer\nbreak layer two_conv; run\n\ntiles\ncompare\n")
    done = cli.run("debug", bundle, "--script", script)
    answers("a script", done, ["break 1 (layer two_conv): at ", "next: #", "x_q[0:1,0:3,0:", "equal: "])
    check.that(cli.run("debug", bundle, input=script.read_text()).stdout == done.stdout, "the same from standard input", done.stdout)
    answers("it ends at quit", cli.run("debug", bundle, "--command", "where; quit; run"), ["at 0 ns"], never=["ended"])
    told = as_json(cli.run("debug", bundle, "--command", "step 3", "--command", "run; compare", "--json"))["commands"]
    check.that([c["command"] for c in told] == ["step 3", "run", "compare"] and told[0]["position"] == 3 and not told[0]["ended"] and told[2]["ended"], "JSON", told)
    done = cli.run("debug", bundle, "--command", "step 3; semaphores; engines; run; semaphores; engines")
    answers("waiting, and at the end nothing", done, ["mac[0] waits for 1", "mac: #", "all semaphores are 0, and nothing waits", "mac: done"])
    watched = cli.run("debug", bundle, "--command", "break address sram:0+1; info breaks; run; delete 1; run")
    answers("a watchpoint", watched, ["1  address sram:0+1", "next: #", "dma_in.0 dma", "break 1 deleted", "has ended"])
    script.write_text("where\nbreak layer three\n")
    check.refuses("a bad line of a script", cli.run("debug", bundle, "--script", script), ["script.txt,line 2", "expected", "'three'"])
    check.refuses("a bad command", cli.run("debug", bundle, "--command", "jump"), ["--command 1", "continue", "'jump'"])
    check.refuses("a model", cli.run("debug", here / "chain.onnx", "--command", "run"), ["a bundle made by build expected"])
    found = 0
    for seed in range(1, 61):
        done = cli.run("debug", bundle, "--inject", seed, "--command", "run; compare")
        changed = re.search(r"injected: (mac\[\d+\]) conv: (\w+)", done.stderr)
        wrong = re.search(r"^different: .*; written by #\d+ (\S+)", done.stdout, re.M)
        if changed and wrong and not changed[2].startswith("out"):
            found += 1
            check.that(wrong[1] == changed[1], f"seed {seed}: the convolution that was changed", done.stderr + done.stdout)
    check.that(found >= 5, "changes of convolutions that show", found)


def test_files(here):
    file = conv_net(here / "m.onnx")
    out = here / "out"
    out.mkdir()
    build = ["build", file, "--target", NPU, "-o"]
    answers("a first bundle", cli.run(*build, out / "real.lsb"))
    whole = (out / "real.lsb").read_bytes()
    (out / "real.lsb").write_bytes(b"old")
    (out / "link.lsb").symlink_to("real.lsb")
    answers("-o LINK", cli.run(*build, out / "link.lsb"))
    check.that((out / "link.lsb").is_symlink() and (out / "real.lsb").read_bytes() == whole, "the link stays, its file is new")
    os.mkfifo(out / "pipe")
    got = []
    reader = threading.Thread(target=lambda: got.append((out / "pipe").read_bytes()))
    reader.start()
    answers("-o PIPE", cli.run(*build, out / "pipe"))
    reader.join(timeout=60)
    check.that(got == [whole] and stat.S_ISFIFO((out / "pipe").stat().st_mode), "the pipe got the bundle and stays")
    (out / "null").symlink_to("/dev/null")  # were it replaced, only the link would be
    answers("-o DEVICE", cli.run(*build, out / "null"))
    check.that((out / "null").is_symlink() and stat.S_ISCHR(pathlib.Path("/dev/null").stat().st_mode), "the device stays")
    (out / "t.json").symlink_to("trace.json")
    answers("--trace LINK", cli.run("build", file, "--target", NPU, "--trace", out / "t.json"))
    check.that((out / "t.json").is_symlink() and (out / "trace.json").stat().st_size > 0, "the link of the trace stays")
    for name in ("real.lsb", "link.lsb", "pipe", "null", "t.json", "trace.json"):
        (out / name).unlink()
    check.that(not list(out.iterdir()), "no other file was left", list(out.iterdir()))

    def small_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    done = cli.run(*build, out / "big.lsb", preexec_fn=small_files)
    check.refuses("a limit of the file's size", done, ["big.lsb", "too large"])
    check.that(not list(out.iterdir()), "nothing left at the limit", list(out.iterdir()))
    # Many bundles, ended while they are written.
    big = numpy_helper.from_array(numpy.random.default_rng(3).standard_normal((4000, 4000)).astype(numpy.float32), "w")
    wide = model(here / "wide.onnx", [helper.make_node("MatMul", ["x", "w"], ["y"])], [big], (1, 4000))
    for turn, number in enumerate([signal.SIGINT, signal.SIGTERM] * 6):
        process = subprocess.Popen([cli.LONGSHORE, "build", wide, "-o", out / "w.lsb"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(0.02 + 0.02 * turn)  # the moments are spread; whichever it is, nothing may stay
        process.send_signal(number)
        process.wait()
    strays = [p.name for p in out.iterdir() if p.name != "w.lsb"]
    check.that(not strays, "no temporary file after SIGINT and SIGTERM", strays)


def test_calibration(here):
    file = conv_net(here / "m.onnx")
    good = numpy.random.default_rng(0).standard_normal((1, 3, 8, 8)).astype(numpy.float32)
    for value in (numpy.nan, numpy.inf, 1e30):
        bad = good.copy()
        bad[0, 1, 0, 2] = value
        folder = here / f"data_{value}"
        folder.mkdir()
        numpy.save(folder / "a.npy", good)
        numpy.save(folder / "b.npy", bad)
        check.refuses(f"calibration with {value}", cli.run("build", file, "--target", NPU, "--calibrate", folder, "-o", here / "x.lsb"),
                      ["b.npy", "element 66", "'x'"])
        check.that(not (here / "x.lsb").exists(), f"no bundle after {value}")
    told = as_json(cli.run("build", file, "--target", NPU, "--min-sqnr", "45", "--json"))["mixed"]
    check.that(told["wide"] and told["after"]["db"] >= 45 > told["before"]["db"], "--min-sqnr widens what it must", told)
    check.that(told["before"]["ms"] <= told["after"]["ms"] <= told["all"]["ms"], "and says what that costs", told)
    answers("and says so", cli.run("build", file, "--target", NPU, "--min-sqnr", "45"), ["16-bit activations in", "45.0 wanted"])
    told = as_json(cli.run("build", file, "--target", NPU, "--max-drop", "0.01", "--json"))["mixed"]
    check.that(told["wide"] and told["after"]["drop_percent"] <= 0.01 < told["before"]["drop_percent"], "--max-drop does too", told)
    check.refuses("--max-drop of too much", cli.run("build", file, "--target", NPU, "--max-drop", "101"), ["--max-drop", "101"], code=64)
    check.refuses("--min-sqnr of nothing", cli.run("build", file, "--target", NPU, "--min-sqnr", "much"), ["--min-sqnr", "much"], code=64)
    answers("--min-sqnr of what stays float", cli.run("run", file, "--min-sqnr", "45"), err=["--min-sqnr changes nothing"])
    # Sixteen samples of 120 MB would not fit.
    one = model(here / "one.onnx", [helper.make_node("Relu", ["x"], ["y"])], shape=("N",))

    def small_memory():
        resource.setrlimit(resource.RLIMIT_AS, (1536 << 20, 1536 << 20))

    done = cli.run("build", one, "--target", NPU, "--dim", "N=30000000", preexec_fn=small_memory)
    answers("random samples are made one by one", done, ["predicted"])


def test_quantise(here):
    """quantise writes what ONNX's checker takes, with the names and open dims of the model, or nothing."""
    rng = numpy.random.default_rng(2)
    weights = numpy_helper.from_array(rng.standard_normal((4, 3, 3, 3)).astype(numpy.float32), "w")
    graph = helper.make_graph([helper.make_node("Conv", ["picture", "w"], ["scores"], name="only", pads=[1, 1, 1, 1])], "g",
                              [helper.make_tensor_value_info("picture", TensorProto.FLOAT, ["batch", 3, 8, "width"])],
                              [helper.make_tensor_value_info("scores", TensorProto.FLOAT, None)], [weights])
    file, out = here / "m.onnx", here / "q.onnx"
    file.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString())
    answers("a summary", cli.run("quantise", file, "-o", out), ["1 node in int8, 0 in int16, 0 in float", "SQNR", "opset 21"], ["RANDOM"])
    written = onnx.load(out)
    onnx.checker.check_model(written, full_check=True)
    shape = [d.dim_param or d.dim_value for d in written.graph.input[0].type.tensor_type.shape.dim]
    check.that((written.graph.input[0].name, shape, written.graph.output[0].name) == ("picture", ["batch", 3, 8, "width"], "scores"),
               "names and dims stay", written.graph.input)
    kinds = {t.name: t.data_type for t in written.graph.initializer}
    check.that(kinds["w_q"] == TensorProto.INT8 and kinds["picture_q_zero_point"] == TensorProto.INT8, "codes are i8", kinds)
    told = as_json(cli.run("quantise", file, "-o", out, "--activations", "u8", "--json"))
    kinds = {t.name: t.data_type for t in onnx.load(out).graph.initializer}
    check.that(kinds["w_q"] == TensorProto.INT8 and kinds["picture_q_zero_point"] == TensorProto.UINT8, "or u8, but not weights", kinds)
    check.that(told["nodes"] == {"int8": 1, "int16": 0, "float": 0} and told["bytes"] == out.stat().st_size and told["output_sqnr_db"] > 20,
               "--json says the same", told)
    answers("what came quantised is written as it is", cli.run("quantise", out, "-o", here / "again.onnx", "--precision", "int16"),
            ["1 node in int8"], ["--precision changes nothing"])
    answers("a rounding that ONNX lacks", cli.run("quantise", file, "-o", out, "--rounding", "fixed31_single"), err=["ONNX knows one rounding", "fixed31_single"])
    check.refuses("a folder that is not there", cli.run("quantise", file, "-o", here / "no/q.onnx"), ["no/q.onnx"])
    check.refuses("quantise without -o", cli.run("quantise", file), ["--output"], code=64)
    before = out.read_bytes()
    check.refuses("an unknown node", cli.run("quantise", file, "-o", out, "--keep-float", "nobody"), ["--keep-float nobody"])
    check.that(out.read_bytes() == before, "the old file stays")


def test_progress(here):
    """On a terminal the line of the progress is gone before anything else is printed."""
    for size in (64, 128, 256, 512):  # until it takes long enough for a line
        shown = on_a_terminal("compare", conv_net(here / "m.onnx", (1, 3, size, size)), "--limit", "600")
        if " left" in shown:
            break
    if not check.that(" left" in shown, "it showed its progress", shown[-300:]):
        return
    rest = shown[shown.rindex(" left") + len(" left"):]
    check.that(rest.startswith("\r\x1b[K") and "different" in rest, "then cleared it, then printed", repr(rest[:200]))


def on_a_terminal(*arguments):
    """What the program prints to a terminal."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(cli.LONGSHORE, [str(cli.LONGSHORE), *map(str, arguments)])
    text = b""
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # its end
            break
        if not piece:
            break
        text += piece
    os.waitpid(pid, 0)
    return text.decode(errors="replace")


with tempfile.TemporaryDirectory() as scratch:
    chosen = sys.argv[1:]
    for test in (test_open_dims, test_buckets, test_ignored, test_nothing_compared, test_clocks, test_messages, test_options, test_json, test_top, test_table, test_summary, test_report, test_memory, test_cliffs, test_columns, test_targets, test_set, test_survey, test_debug,
                 test_files, test_calibration, test_quantise, test_progress):
        if chosen and test.__name__ not in chosen:
            continue
        folder = pathlib.Path(scratch) / test.__name__
        folder.mkdir(parents=True)
        test(folder)
sys.exit(check.finish())
