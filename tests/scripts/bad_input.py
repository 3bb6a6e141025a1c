#!/usr/bin/env python3
"""Bad input through the command line: the message names file, node, expected and found; the exit code is 2 (64 for a
wrong call); nothing is left where the output should have been."""
import pathlib
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import cli  # noqa: E402

cli.with_oracle()
import numpy  # noqa: E402
import onnx  # noqa: E402
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from PIL import Image  # noqa: E402

check = cli.Checks()


def model(path, nodes, constants=(), shape=(1, 3, 8, 8), opset=17):
    """Writes a model with input `x` and output `y`."""
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], list(constants))
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    path.write_bytes(made.SerializeToString())
    return path


def conv_model(path):
    rng = numpy.random.default_rng(1)
    weights = numpy_helper.from_array(rng.standard_normal((4, 3, 3, 3)).astype(numpy.float32), "w")
    return model(path, [helper.make_node("Conv", ["x", "w"], ["c"], name="first_conv", pads=[1, 1, 1, 1]),
                        helper.make_node("Relu", ["c"], ["y"], name="last_relu")], [weights])


def array(path, shape, dtype=numpy.float32):
    numpy.save(path, numpy.zeros(shape, dtype))
    return path


def models(here):
    """Models that no command may take."""
    cases = []
    file = model(here / "unknown.onnx", [helper.make_node("Frobnicate", ["x"], ["y"], name="odd_one")])
    cases.append(("unknown operator", file, ["unknown.onnx", "odd_one", "Frobnicate"]))

    file = here / "cyclic.onnx"
    model(file, [helper.make_node("Add", ["x", "b"], ["a"], name="turn_1"), helper.make_node("Relu", ["a"], ["b"], name="turn_2"),
                 helper.make_node("Relu", ["b"], ["y"], name="leaves")])
    cases.append(("cyclic graph", file, ["cyclic.onnx", "cycl", "turn_"]))

    weights = TensorProto(name="big_weights", data_type=TensorProto.FLOAT, dims=[4, 3, 3, 3],
                          data_location=TensorProto.EXTERNAL)
    for name, location, words in (("missing external data", "weights.bin", ["weights.bin"]),
                                  ("external data outside", "../secret.bin", ["secret.bin"]),
                                  ("external data by a link", "link.bin", ["link.bin"])):
        tensor = TensorProto()
        tensor.CopyFrom(weights)
        tensor.external_data.add(key="location", value=location)
        file = model(here / f"{name.replace(' ', '_')}.onnx",
                     [helper.make_node("Conv", ["x", "big_weights"], ["y"], name="c")], [tensor])
        cases.append((name, file, [file.name, "big_weights", *words]))
    (here.parent / "secret.bin").write_bytes(b"TOPSECRET" * 100)
    (here / "link.bin").symlink_to(here.parent / "secret.bin")

    tensor = TensorProto()
    tensor.CopyFrom(weights)
    tensor.external_data.add(key="location", value="short.bin")
    (here / "short.bin").write_bytes(b"1234")
    file = model(here / "short.onnx", [helper.make_node("Conv", ["x", "big_weights"], ["y"], name="c")], [tensor])
    cases.append(("external data too short", file, ["short.onnx", "big_weights", "432"]))

    wrong = numpy_helper.from_array(numpy.zeros((4, 5, 3, 3), numpy.float32), "w")
    file = model(here / "channels.onnx", [helper.make_node("Conv", ["x", "w"], ["y"], name="misfit")], [wrong])
    cases.append(("dims that contradict", file, ["channels.onnx", "misfit", "3", "5"]))

    file = model(here / "attribute.onnx", [helper.make_node("Conv", ["x", "w"], ["y"], name="misfit", group=0)],
                 [numpy_helper.from_array(numpy.zeros((4, 3, 3, 3), numpy.float32), "w")])
    cases.append(("impossible attribute", file, ["attribute.onnx", "misfit", "group"]))

    file = model(here / "dangling.onnx", [helper.make_node("Add", ["x", "nowhere"], ["y"], name="hangs")])
    cases.append(("an input that nothing computes", file, ["dangling.onnx", "hangs", "nowhere"]))

    good = conv_model(here / "whole.onnx").read_bytes()
    (here / "cut.onnx").write_bytes(good[:len(good) // 2])
    cases.append(("truncated model", here / "cut.onnx", ["cut.onnx"]))
    (here / "empty.onnx").write_bytes(b"")
    cases.append(("empty model", here / "empty.onnx", ["empty.onnx"]))
    (here / "text.onnx").write_text("this is not a model\n")
    cases.append(("a text instead of a model", here / "text.onnx", ["text.onnx"]))
    cases.append(("missing model", here / "absent.onnx", ["absent.onnx"]))
    cases.append(("a folder instead of a model", here, [here.name]))
    return cases


def test_models(here):
    out = here.parent / "out"
    for name, file, words in models(here):
        out.mkdir()
        check.refuses(f"run: {name}", cli.run("run", file, "--output-dir", out), words, never=["TOPSECRET", "secret.bin: TOP"])
        check.refuses(f"build: {name}", cli.run("build", file, "-o", out / "m.lsb"), words, never=["TOPSECRET"])
        check.that(not list(out.iterdir()), f"nothing left: {name}", [p.name for p in out.iterdir()])
        shutil.rmtree(out)


def test_inputs(here):
    file, out = conv_model(here / "good.onnx"), here / "out"
    out.mkdir()
    Image.fromarray(numpy.zeros((20, 20, 3), numpy.uint8)).save(here / "fine.png")
    png = (here / "fine.png").read_bytes()
    (here / "cut.png").write_bytes(png[:len(png) // 2])
    (here / "garbage.png").write_bytes(png[:8] + bytes(range(256)))
    (here / "fine.jpg").write_bytes(b"")
    Image.fromarray(numpy.zeros((20, 20, 3), numpy.uint8)).save(here / "fine.jpg")
    (here / "cut.jpg").write_bytes((here / "fine.jpg").read_bytes()[:200])
    (here / "words.txt").write_text("no picture")
    npy = array(here / "right.npy", (1, 3, 8, 8)).read_bytes()
    (here / "cut.npy").write_bytes(npy[:-100])
    numpy.save(here / "strings.npy", numpy.array(["a", "b"]))
    cases = [
        ("wrong dtype", [array(here / "double.npy", (1, 3, 8, 8), numpy.float64)], ["good.onnx", "'x'", "f32[1,3,8,8]", "f64"]),
        ("wrong rank", [array(here / "rank.npy", (3, 8, 8))], ["good.onnx", "'x'", "rank 4", "3"]),
        ("wrong dims", [array(here / "dims.npy", (1, 3, 8, 9))], ["good.onnx", "'x'", "dimension 3", "8", "9"]),
        ("cut picture", [here / "cut.png"], ["cut.png"]),
        ("garbage in a picture", [here / "garbage.png"], ["garbage.png"]),
        ("cut jpg", [here / "cut.jpg"], ["cut.jpg"]),
        ("text as input", [here / "words.txt"], ["words.txt"]),
        ("cut npy", [here / "cut.npy"], ["cut.npy"]),
        ("npy of strings", [here / "strings.npy"], ["strings.npy"]),
        ("missing input file", [here / "absent.npy"], ["absent.npy"]),
        ("no such input", [f"q={here / 'right.npy'}"], ["q=", "'x'"]),
        ("too many inputs", [here / "right.npy", here / "right.npy"], ["x"]),
    ]
    for name, inputs, words in cases:
        done = cli.run("run", file, *[a for i in inputs for a in ("--input", i)], "--output-dir", out)
        check.refuses(f"run: {name}", done, words)
        check.that(not list(out.iterdir()), f"nothing left: {name}", [p.name for p in out.iterdir()])
    done = cli.run("run", file, "--input", here / "right.npy", "--output-dir", out)
    check.that(done.returncode == 0 and [p.name for p in out.iterdir()] == ["y.npy"], "the right input runs", done.stderr)
    check.refuses("output folder under a file", cli.run("run", file, "--output-dir", here / "words.txt" / "deep"), ["words.txt"])
    check.refuses("no such dim", cli.run("run", file, "--dim", "batch=1"), ["batch"])
    check.refuses("no such input value", cli.run("run", file, "--input-value", "sr=1"), ["sr"])


def test_calibration(here):
    file, out = conv_model(here / "calibrated.onnx"), here / "built"
    out.mkdir()
    old = out / "old.lsb"
    old.write_bytes(b"the old bundle")
    (here / "none").mkdir()
    (here / "broken").mkdir()
    for i in range(3):
        (here / "broken" / f"bad_{i}.png").write_bytes(b"\x89PNG\r\n\x1a\nxx")
    for name, path, words in (("empty folder", here / "none", ["none"]), ("unreadable files", here / "broken", ["bad_0.png"]),
                              ("missing folder", here / "absent", ["absent"])):
        done = cli.run("build", file, "--target", "rk3588-like", "--calibrate", path, "-o", old)
        check.refuses(f"calibrate: {name}", done, words)
        check.that([p.name for p in out.iterdir()] == ["old.lsb"] and old.read_bytes() == b"the old bundle",
                   f"the old bundle stays: {name}", [p.name for p in out.iterdir()])
    check.refuses("output in a folder that is not there", cli.run("build", file, "-o", here / "no" / "where.lsb"), ["where.lsb"])


def test_targets(here):
    file, out = conv_model(here / "placed.onnx"), here / "placed.lsb"
    source = cli.ROOT / "targets" / "shore-1.toml"
    text = source.read_text()
    key = next(line for line in text.splitlines() if line.startswith("bytes"))
    number = text.splitlines().index(key) + 1
    cases = [
        ("unknown key", text.replace(key, key + "\nwarp_factor = 9"), ["warp_factor", f":{number + 1}"]),
        ("impossible value", text.replace(key, "bytes = -1"), ["bytes", "-1", f":{number}"]),
        ("wrong type", text.replace(key, 'bytes = "many"'), ["bytes", f":{number}"]),
        ("no toml", text + "\n[[[\n", ["broken.toml"]),
        ("an unknown parent", 'like = "nobody"\n', ["nobody"]),
    ]
    for name, changed, words in cases:
        target = here / "broken.toml"
        target.write_text(changed)
        check.refuses(f"target file: {name}", cli.run("build", file, "--target", target, "-o", out), ["broken.toml", *words])
        check.that(not out.exists(), f"nothing left: {name}")
    check.refuses("target: no such name", cli.run("build", file, "--target", "no-such-chip", "-o", out), ["no-such-chip", "shore-1"])


def test_bundles(here):
    file, bundle = conv_model(here / "packed.onnx"), here / "whole.lsb"
    done = cli.run("build", file, "-o", bundle)
    if not check.that(done.returncode == 0, "build", done.stderr):
        return
    whole = bundle.read_bytes()
    (here / "cut.lsb").write_bytes(whole[:-1])
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 0x10
    (here / "flipped.lsb").write_bytes(flipped)
    (here / "longer.lsb").write_bytes(whole + b"\0")
    for name in ("cut.lsb", "flipped.lsb", "longer.lsb", "absent.lsb"):
        for command in ("run", "compare"):
            check.refuses(f"{command} {name}", cli.run(command, here / name), [name])


def test_calls(here):
    file = conv_model(here / "called.onnx")
    for name, arguments, words in (
            ("unknown option", ["run", file, "--no-such-option"], ["no-such-option"]),
            ("unknown command", ["launch", file], ["launch"]),
            ("no command", [], []),
            ("no model", ["run"], []),
            ("a word for a number", ["bench", file, "--threads", "many"], ["many"]),
            ("an unknown engine", ["run", file, "--on", "gpu"], ["gpu"]),
            ("a precision that is none", ["bench", file, "--precision", "int3"], ["int3"])):
        check.refuses(f"call: {name}", cli.run(*arguments), words, code=64)
    for command in ("inspect", "build", "run", "compare", "bench", "eval", "targets", "ops", "test-onnx"):
        done = cli.run(command, "--help")
        check.that(done.returncode == 0 and command in done.stdout and "--json" in done.stdout, f"{command} --help",
                   done.stdout[:200] + done.stderr[:200])


with tempfile.TemporaryDirectory() as scratch:
    for test in (test_models, test_inputs, test_calibration, test_targets, test_bundles, test_calls):
        folder = pathlib.Path(scratch) / test.__name__ / "here"
        folder.mkdir(parents=True)
        test(folder)
sys.exit(check.finish())
