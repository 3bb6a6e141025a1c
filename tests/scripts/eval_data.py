#!/usr/bin/env python3
"""eval on data that is made here, so that every figure can be worked out beside it: kept float outputs, the paired interval, samples without
labels, folders of pictures, bad files. And on the data that lies beside some checkouts, against its float outputs."""
import json
import math
import pathlib
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import cli

cli.with_oracle()
import numpy
import onnx
from PIL import Image

check = cli.Checks()
SHARED = next((parent / "shared/data" for parent in cli.ROOT.parents if (parent / "shared/data/reference").exists()), None)


def told(name, *arguments):
    done = cli.run("eval", *arguments, "--json")
    if not check.that(done.returncode == 0, name, done.stderr[-500:]):
        sys.exit(check.finish())
    return json.loads(done.stdout)


def near(name, got, want, tolerance=1e-6):
    check.that(got is not None and abs(got - want) <= tolerance, name, f"got {got}, want {want}")


def paired_interval(both, first, second, neither):
    """Of second - first, as a contrast of four multinomial counts with half a sample added to each."""
    counts, weights = [x + 0.5 for x in (both, first, second, neither)], (0, -1, 1, 0)
    total = sum(counts)
    mean = sum(w * x for w, x in zip(weights, counts)) / total
    variance = (sum(w * w * x for w, x in zip(weights, counts)) / total - mean**2) / total
    reach = statistics.NormalDist().inv_cdf(0.975) * math.sqrt(variance)
    return 100 * max(-1, mean - reach), 100 * min(1, mean + reach)


def decibel(want, got):
    return 10 * math.log10(float((want**2).sum() / ((want - got) ** 2).sum()))


def product(path, shape, weights):
    """y = weights x, for x of this shape."""
    nodes = [onnx.helper.make_node("Flatten", ["x"], ["flat"]), onnx.helper.make_node("Gemm", ["flat", "w"], ["y"], transB=1)]
    value = lambda name, dims: onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, dims)
    graph = onnx.helper.make_graph(nodes, "g", [value("x", shape)], [value("y", [1, len(weights)])],
                                   [onnx.numpy_helper.from_array(weights.astype(numpy.float32), "w")])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8), path)
    return path


def kept_outputs(here):
    """Means of quarters of planes as twelve scores, against outputs that are these with noise."""
    random = numpy.random.default_rng(4)
    data, kept = here / "data.bin", here / "kept.f32"
    weights = numpy.zeros((3, 2, 2, 3, 2, 16, 2, 16))
    for c, y, x in numpy.ndindex(3, 2, 2):
        weights[c, y, x, c, y, :, x, :] = 1 / 256
    model = product(here / "means.onnx", [1, 3, 32, 32], weights.reshape(12, 3072))
    bytes_of = random.integers(0, 256, (200, 3, 32, 32), dtype=numpy.uint8)
    scores = bytes_of.reshape(200, 3, 2, 16, 2, 16).astype(numpy.float64).mean(axis=(3, 5)).reshape(200, 12)
    labels = numpy.where(random.random(200) < 0.7, scores[:, :10].argmax(1), random.integers(0, 10, 200)).astype(numpy.uint8)
    data.write_bytes(b"".join(bytes([label]) + picture.tobytes() for label, picture in zip(labels, bytes_of)))
    noisy = (scores + random.normal(0, 3, scores.shape)).astype("<f4")
    kept.write_bytes(noisy.tobytes())
    arguments = model, "--data", f"cifar10:{data}", "--reference", kept
    got = told("kept outputs", *arguments)
    mine, theirs = scores.argmax(1) == labels, noisy.argmax(1) == labels
    table = [int(x.sum()) for x in (mine & theirs, ~mine & theirs, mine & ~theirs, ~mine & ~theirs)]
    check.that(got["right"] == int(mine.sum()) and got["samples"] == 200, "right", got)
    near("value", got["value"], 100 * mine.mean())
    near("float_value", got["float_value"], 100 * theirs.mean())
    near("label_agreement_percent", got["label_agreement_percent"], 100 * (scores.argmax(1) == noisy.argmax(1)).mean())
    near("output_sqnr_db", got["output_sqnr_db"], decibel(noisy.astype(float), scores), 1e-3)
    check.that([got["only_float_right"], got["only_quantised_right"]] == table[1:3] and min(table[1:3]) > 0, "discordant pairs", (got, table))
    near("paired_difference_points", got["paired_difference_points"], 100 * (mine.mean() - theirs.mean()))
    for i, want in enumerate(paired_interval(*table)):
        near(f"paired_interval_points {i}", got["paired_interval_points"][i], want)
    shown = cli.run("eval", *arguments).stdout
    check.that(f"right alone: float {table[1]}, this {table[2]}" in shown and "95 %" in shown, "text", shown)

    # A part of the samples meets its own records. Means of 256 bytes are exact: nothing differs.
    exact = here / "exact.f32"
    exact.write_bytes(scores.astype("<f4").tobytes())
    for part in (["--limit", 40], ["--first", 50], ["--first", 50, "--limit", 20]):
        got = told(f"kept outputs {part}", model, "--data", f"cifar10:{data}", "--reference", exact, *part)
        check.that(got["label_agreement_percent"] == 100 and got["output_sqnr_db"] is None and got["samples"] == part[-1], f"{part}", got)
    (here / "first.f32").write_bytes(scores[:50].astype("<f4").tobytes())
    got = told("outputs of the first", model, "--data", f"cifar10:{data}", "--reference", here / "first.f32", "--first", 50)
    check.that(got["label_agreement_percent"] == 100, "outputs of the first", got)
    int8 = model, "--precision", "int8", "--data", f"cifar10:{data}", "--calibrate", f"cifar10:{data}"
    a, b = told("against kept", *int8, "--reference", exact), told("against float", *int8, "--compare-float")
    check.that(a.keys() == b.keys() and a["label_agreement_percent"] == b["label_agreement_percent"], "kept outputs are the float model's", (a, b))
    near("SQNR against both", a["output_sqnr_db"], b["output_sqnr_db"], 1e-2)

    bundle = here / "means.lsb"
    done = cli.run("build", model, "--target", "shore-1", "--calibrate", f"cifar10:{data}", "-o", bundle)
    check.that(done.returncode == 0, "build", done.stderr)
    got = told("a bundle against kept", bundle, "--data", f"cifar10:{data}", "--reference", exact, "--limit", 5)
    check.that(got["on"] == "sim" and got["output_sqnr_db"] > 20, "a bundle against kept", got)
    return model, data, exact


def without_labels(here):
    """Outputs that are scores, and outputs as long as the input, as of what rebuilds it."""
    random = numpy.random.default_rng(5)
    numbers = random.normal(0, 1, (60, 8)).astype("<f4")
    data = here / "data.f32"
    data.write_bytes(numbers.tobytes())
    weights = random.normal(0, 1, (8, 8)).astype(numpy.float32)
    scorer, rebuilder = product(here / "scorer.onnx", [1, 8], weights[:5]), product(here / "rebuilder.onnx", [1, 8], weights)
    for model, labels in ((scorer, True), (rebuilder, False)):
        got = told(model.stem, model, "--data", f"f32:{data}", "--precision", "int8", "--calibrate", f"f32:{data}", "--compare-float")
        check.that(("label_agreement_percent" in got) == labels, f"{model.stem}: agreement only of scores", got)
        check.that(got["samples"] == got["calibration_samples"] == 60 and got["output_sqnr_db"] > 20, f"{model.stem}: figures", got)
        check.that(not {"value", "right", "metric", "float_value", "paired_difference_points"} & got.keys(), f"{model.stem}: nothing of labels", got)
    shown = cli.run("eval", rebuilder, "--data", f"f32:{data}", "--compare-float").stdout
    check.that("60 samples without labels" in shown and "SQNR" in shown and "same label" not in shown, "text", shown)
    exact = numbers.astype(float) @ weights.T.astype(float)
    noisy = (exact + random.normal(0, 0.1, exact.shape)).astype("<f4")
    (here / "noisy.f32").write_bytes(noisy.tobytes())
    got = told("SQNR alone", rebuilder, "--data", f"f32:{data}", "--reference", here / "noisy.f32")
    near("SQNR alone", got["output_sqnr_db"], decibel(noisy.astype(float), exact), 1e-3)
    return rebuilder, data


def folders(here, model):
    """Red is class 0 to 3 of the means, green 4 to 7, blue 8 to 11: pictures of one colour, whose first score is the best."""
    colours = {"red": (200, 0, 0), "green": (0, 200, 0), "blue": (0, 0, 200)}
    (here / "labels.txt").write_text("".join(f"{name}\n" for name in ("red r1 r2 r3 green g1 g2 g3 blue b1 b2 b3".split())))

    def pictures(name, folder_names):
        for (colour, rgb), folder in zip(colours.items(), folder_names):
            (here / name / folder).mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (32, 32), rgb).save(here / name / folder / f"{colour}.png")
        return here / name

    numbered, named, flat = (pictures(n, f) for n, f in (("numbered", "048"), ("named", colours), ("flat", [""] * 3)))
    got = told("numbered folders", model, "--data", numbered)
    check.that(got["value"] == 100 and got["samples"] == 3 and "classes" not in got, "numbered folders", got)
    got = told("labels", model, "--data", named, "--labels", here / "labels.txt")
    check.that(got["value"] == 100 and got["classes"] == {"red": 0, "green": 4, "blue": 8}, "names of a labels file", got)
    shown = cli.run("eval", model, "--data", named, "--labels", here / "labels.txt").stdout
    check.that("classes: blue is 8, green is 4, red is 0" in shown, "the mapping is shown", shown)
    got = told("flat", model, "--data", flat, "--compare-float")
    check.that(got["samples"] == 3 and got["label_agreement_percent"] == 100 and "value" not in got, "a folder of pictures alone", got)
    done = cli.run("eval", model, "--data", numbered, "--labels", here / "labels.txt")
    check.that(done.returncode == 0 and "--labels changes nothing" in done.stderr, "labels beside numbers", done.stderr)
    (here / "short.txt").write_text("red\ngreen\n")
    (here / "long.txt").write_text((here / "labels.txt").read_text() + "more\n")
    (here / "none.txt").write_text("")
    for arguments, words in (([], ["3 classes", "12 scores", "--labels"]), (["--labels", here / "short.txt"], ["named/blue", "no line"]),
                             (["--labels", here / "long.txt"], ["13 classes", "12 scores"]), (["--labels", here / "none.txt"], ["none.txt", "found none"]),
                             (["--labels", here / "nowhere.txt"], ["nowhere.txt"])):
        done = cli.run("eval", model, "--data", named, *arguments)
        check.that(done.returncode == 2 and all(w in done.stderr for w in words), f"named folders {arguments}", done.stderr)
    (here / "numbered/12").mkdir()
    Image.new("RGB", (32, 32)).save(here / "numbered/12/black.png")
    done = cli.run("eval", model, "--data", numbered)
    check.that(done.returncode == 2 and "labels go up to 12, the model has 12 scores" in done.stderr, "a class that the model lacks", done.stderr)

    for arguments, kind, headline in ((["--calibrate", flat], "calibration", "3 samples of the calibration"), (["--precision", "int8"], "random", "3 RANDOM samples"),
                                      (["--precision", "int8", "--data", flat], "data", "3 samples")):
        done, shown = cli.run("compare", model, *arguments, "--json"), cli.run("compare", model, *arguments).stdout
        check.that(done.returncode == 0 and json.loads(done.stdout)["samples_from"] == kind and f"int8 against float, {headline}\n" in shown,
                   f"compare {arguments}", done.stderr + shown)


def bad_files(here, means, pictures, exact, rebuilder, numbers):
    whole, outputs = numbers.read_bytes(), exact.read_bytes()
    files = {"empty.f32": b"", "cut.f32": whole[:-4], "odd.f32": whole[:-3], "nan.f32": whole[:-4] + b"\0\0\xc0\x7f",
             "infinite.f32": whole[:32 + 8] + b"\0\0\x80\xff" + whole[32 + 12:],
             "few.f32": outputs[:-48], "ragged.f32": outputs[:-4], "sour.f32": outputs[:48 * 3 + 8] + b"\0\0\x80\x7f" + outputs[48 * 3 + 12:]}
    for name, content in files.items():
        (here / name).write_bytes(content)
    records = "records of 8 float32 numbers (an input of f32[1, 8])"
    for name, words in (("empty.f32", [records, "found 0 bytes"]), ("cut.f32", [records, f"found {len(whole) - 4} bytes"]), ("odd.f32", [records]),
                        ("nan.f32", ["record 59, element 7", "nan"]), ("infinite.f32", ["record 1, element 2", "-inf"]), ("nowhere.f32", [])):
        for option in (["--data", f"f32:{here / name}", "--compare-float"],
                       ["--data", f"f32:{numbers}", "--compare-float", "--precision", "int8", "--calibrate", f"f32:{here / name}"]):
            done = cli.run("eval", rebuilder, *option)
            check.that(done.returncode == 2 and not done.stdout and all(w in done.stderr for w in [name, *words]), f"{option}", done.stderr)
    for name, words in (("few.f32", ["expected 200 records, one for each sample of cifar10, found 199"]), ("ragged.f32", ["records of 12 float32 numbers (output 0"]),
                        ("sour.f32", ["record 3, element 2"]), ("empty.f32", ["found 0 bytes"]), ("nowhere.f32", [])):
        done = cli.run("eval", means, "--data", f"cifar10:{pictures}", "--reference", here / name)
        check.that(done.returncode == 2 and not done.stdout and all(w in done.stderr for w in [name, *words]), f"--reference {name}", done.stderr)
    for arguments, words, code in (([rebuilder, "--data", f"f32:{numbers}"], ["no labels", "--compare-float", "--reference"], 2),
                                   ([rebuilder, "--data", "f32"], ["f32:FILE"], 2), ([rebuilder, "--data", "cifar10x3"], ["cifar10x3:FILE"], 2),
                                   ([rebuilder, "--data", f"cifar10x3:{pictures}", "--compare-float"], ["f32[1, 8]", "3x96x96"], 2),
                                   ([means, "--data", f"cifar10:{pictures}", "--first", 201], ["--first 201", "200"], 2),
                                   ([means, "--data", f"cifar10:{pictures}", "--compare-float", "--reference", exact], ["--reference"], 64)):
        done = cli.run("eval", *arguments)
        check.that(done.returncode == code and not done.stdout and all(w in done.stderr for w in words), f"eval {arguments[1:]}", done.stderr)
    done = cli.run("eval", means, "--data", f"cifar10:{pictures}", "--mean", 127)
    check.that(done.returncode == 0 and "--mean" in done.stderr, "--mean beside numbers", done.stderr)


def remembered(here, model):
    """A bundle reads pictures as it was built to; what cannot be meant is said."""
    random = numpy.random.default_rng(6)
    folder = here / "photos"
    folder.mkdir()
    for i in range(8):
        Image.fromarray(random.integers(0, 256, (32, 32, 3), dtype=numpy.uint8)).save(folder / f"{i}.png")
    told = {}
    for name, options in (("own", ["--mean", "10,20,30", "--std", "2", "--bgr"]), ("usual", []), ("bytes", ["--mean", "10", "--bgr", "--input-type", "u8", "--resize", "crop"])):
        done = cli.run("build", model, "--target", "shore-1", "--calibrate", folder, *options, "-o", here / f"{name}.lsb")
        check.that(done.returncode == 0, f"build {name}", done.stderr)
        told[name] = json.loads(cli.run("inspect", here / f"{name}.lsb", "--json").stdout)["bundle"]["pictures"]
    check.that(told == {"own": "--mean 10,20,30 --std 2 --bgr", "usual": None, "bytes": "--resize crop"}, "what bundles remember", told)
    check.that("pictures     --mean 10,20,30 --std 2 --bgr" in cli.run("inspect", here / "own.lsb").stdout, "inspect shows it", told)
    check.that(cli.run("build", here / "own.lsb", "--target", "rk3588-like", "-o", here / "again.lsb").returncode == 0
               and "--bgr" in cli.run("inspect", here / "again.lsb").stdout, "a bundle made of a bundle", "it has forgotten")

    def outputs(model, *options):
        done = cli.run("run", here / model, "--input", folder / "3.png", *options, "--output-dir", here / "out")
        check.that(done.returncode == 0, f"run {model} {options}", done.stderr)
        return numpy.load(here / "out/y.npy"), done.stderr

    numbers, said = outputs("own.lsb")
    pixels = numpy.asarray(Image.open(folder / "3.png")).astype(float)[:, :, ::-1].transpose(2, 0, 1)
    want = ((pixels - numpy.array([10, 20, 30]).reshape(3, 1, 1)) / 2).reshape(3, 2, 16, 2, 16).mean(axis=(2, 4)).reshape(1, 12)
    check.that(abs(numbers - want).max() < 1 and "as the bundle says: --mean 10,20,30 --std 2 --bgr" in said, "a bundle's own numbers", (numbers, want, said))
    other, said = outputs("own.lsb", "--std", "255")
    check.that("take the place of the bundle's own: --mean 10,20,30" in said and abs(other - numbers).max() > 10, "options come first", said)
    _, said = outputs("usual.lsb")
    check.that("bundle" not in said, "nothing is said of what is usual", said)
    _, said = outputs("usual.lsb", "--std", "1")
    check.that("'x': 9" in said or "'x': 100 %" in said, "most of the input saturates", said)
    _, said = outputs("usual.lsb", "--mean", "0.485,0.456,0.406", "--std", "0.229,0.224,0.225")
    check.that("255 times" in said, "means of pixels from 0 to 1", said)
    for name, more in (("own.lsb", []), ("usual.lsb", ["--std", "1"])):
        done = cli.run("eval", here / name, "--data", folder, "--reference", here / "few.f32", *more)
        check.that(done.returncode == 2, f"eval {name}: another number of records", done.stderr)
    (here / "eight.f32").write_bytes(bytes(12 * 4 * 8))
    done = cli.run("eval", here / "usual.lsb", "--data", folder, "--reference", here / "eight.f32", "--std", "1")
    check.that(done.returncode == 0 and "lies beyond" in done.stderr, "eval warns of saturation", done.stderr)
    done = cli.run("eval", here / "own.lsb", "--data", folder, "--reference", here / "eight.f32")
    check.that(done.returncode == 0 and "as the bundle says" in done.stderr and "lies beyond" not in done.stderr, "eval reads as the bundle says", done.stderr)


def beside_the_checkout():
    """Float runs of models that others trained give the outputs that ONNX Runtime gave: so the inputs are read as they were."""
    if SHARED is None:
        print("SKIP shared/data/reference is not beside this checkout")
        return
    for model, data, options in (("mobilenet_v1_025_vww", "cifar10x3:{}/cifar10_test.bin", ["--first", 1000, "--limit", 100]), ("resnet8_cifar10", "cifar10:{}/cifar10_test.bin", ["--limit", 100]),
                                 ("dscnn_kws", "f32:{}/kws_test.f32", ["--limit", 100]), ("autoencoder_ad", "f32:{}/ad_test.f32", [])):
        got = told(model, SHARED / f"models/{model}.onnx", "--data", data.format(SHARED), "--reference", SHARED / f"reference/{model}.f32", *options)
        check.that(got["output_sqnr_db"] > 100 and got.get("label_agreement_percent") == (None if model == "autoencoder_ad" else 100), model, got)


with tempfile.TemporaryDirectory() as folder:
    here = pathlib.Path(folder)
    means, pictures, exact = kept_outputs(here)
    rebuilder, numbers = without_labels(here)
    folders(here, means)
    bad_files(here, means, pictures, exact, rebuilder, numbers)
    remembered(here, means)
beside_the_checkout()
sys.exit(check.finish())
