#!/usr/bin/env python3
"""The checks of calibration samples: each of ten planted mistakes is found, clean sets are passed over in silence.

The zoo's nets and Fashion-MNIST are always there; colour comes from the nets and pictures of shared/data, where that folder lies
beside the checkout. `lint.py --table` tries every mistake on every net and prints which check found it."""
import gzip
import json
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import cli

cli.with_oracle()
import numpy as np
import onnx
from onnx import helper, numpy_helper

SHARED = cli.ROOT.parent / "shared/data"
FASHION = pathlib.Path("/usr/share/datasets/fashion-mnist")
COLOUR_NETS = ("resnet8", "resnet8_large", "mobilenetv2_hybrid", "mobilenetv3_hybrid", "vit_hybrid", "vit_hybrid_outlier")
random = np.random.default_rng(7)
check = cli.Checks()


def fashion(count):
    """Training pictures in 0..1 and their labels."""
    with gzip.open(FASHION / "train-images-idx3-ubyte.gz") as f:
        pictures = np.frombuffer(f.read(16 + 784 * count), np.uint8, offset=16).reshape(-1, 1, 28, 28)
    with gzip.open(FASHION / "train-labels-idx1-ubyte.gz") as f:
        labels = np.frombuffer(f.read(8 + count), np.uint8, offset=8)
    return pictures.astype(np.float32) / 255, labels


def cifar(name):
    records = np.fromfile(SHARED / name, np.uint8).reshape(-1, 3073)
    return records[:, 1:].reshape(-1, 3, 32, 32).astype(np.float32) / 255, records[:, 0]


def wanting(model, scale, offset, path):
    """The model with its input taken as scale * x + offset, one number for each channel."""
    m = onnx.load(model)
    name = m.graph.input[0].name
    for node in m.graph.node:
        for i, read in enumerate(node.input):
            if read == name:
                node.input[i] = "prepared"
    for n, values in (("lint_scale", scale), ("lint_offset", offset)):
        m.graph.initializer.append(numpy_helper.from_array(np.array(values, np.float32).reshape(1, -1, 1, 1), n))
    m.graph.node.insert(0, helper.make_node("Mul", [name, "lint_scale"], ["scaled"]))
    m.graph.node.insert(1, helper.make_node("Add", ["scaled", "lint_offset"], ["prepared"]))
    onnx.save(m, path)
    return path


def blurred(x):
    edges = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), mode="edge")
    rows, columns = x.shape[2:]
    return sum(edges[:, :, i:i + rows, j:j + columns] for i in range(3) for j in range(3)) / 9


def nearly(x):
    """Copies as people make them: saved with some noise, a little brighter."""
    noise = random.normal(0, 0.015, x.shape)
    return np.clip(x * random.uniform(0.95, 1.05, (len(x), 1, 1, 1)) + noise, 0, 1)


def mistakes(pictures, labels, mean, std):
    """Ten sets for a model that wants (picture - mean) / std, by what is wrong with them, and the check that should say so."""
    ready = lambda x: (x - mean) / std
    some = pictures[random.permutation(len(pictures))[:100]]
    sets = {
        "0..255 for 0..1": ("preprocessing", some * 255),
        "no mean, std": ("preprocessing", some),
        "copies": ("duplicates", ready(np.concatenate([some[:40]] * 2 + [some[40:60]]))),
        "near copies": ("duplicates", ready(np.concatenate([some[:40], nearly(some[:40]), some[40:60]]))),
        "noise": ("noise", ready(random.random(some.shape))),
        "one class": ("one_class", ready(pictures[labels == 1][:50])),
        "few": ("few_samples", ready(some[:6])),
        "blurred": ("blur", ready(blurred(some))),
        "inverted": ("preprocessing", ready(1 - some)),
    }
    if pictures.shape[1] == 3:
        sets["BGR"] = ("preprocessing", ready(some[:, ::-1]))
        sets["NHWC for NCHW"] = ("layout", ready(some).transpose(0, 2, 3, 1).reshape(some.shape))
    return sets


def findings(folder, model, samples, *arguments):
    """Which checks find something, with the warnings as text."""
    place = pathlib.Path(tempfile.mkdtemp(dir=folder))
    for i, sample in enumerate(samples):
        np.save(place / f"{i:05}.npy", sample[None].astype(np.float32))
    done = cli.run("build", model, "--target", "cpu", "--calibrate", place, "--calibrator", "min_max", "--no-equalise",
                   "--json", *arguments)
    if not check.that(done.returncode == 0, f"build {model}", done.stderr[-500:]):
        return [], done.stderr
    return [f["check"] for f in json.loads(done.stdout).get("calibration_findings", [])], done.stderr


def with_mean_and_std(folder, path, pictures):
    """The net as one that wants (picture - mean) / std: its path, mean and std. `pictures` are what the net itself wants."""
    if pictures.shape[1] == 1:
        mean, std, full = np.array([0.286]), np.array([0.353]), 1
    else:
        mean, std, full = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225]), 255
    model = wanting(path, std * full, mean * full, folder / ("prepared_" + path.name))
    shape = (1, -1, 1, 1)
    return model, mean.reshape(shape), std.reshape(shape)


def table(folder, nets):
    rows = {}
    for path, pictures, labels in nets:
        model, mean, std = with_mean_and_std(folder, path, pictures)
        for name, (_, samples) in mistakes(pictures, labels, mean, std).items():
            found, text = findings(folder, model, samples)
            rows.setdefault(name, {})[path.stem] = ", ".join(found) or "-"
            if "-v" in sys.argv:
                print(path.stem, name, text)
        own = 1 if pictures.shape[1] == 1 else 255
        for name, count, seed in (("clean, 20", 20, 0), ("clean, 50", 50, 1), ("clean, 50 b", 50, 2), ("clean, 100", 100, 3), ("clean, 500", 500, 4)):
            chosen = pictures[np.random.default_rng(seed).permutation(len(pictures))[:count]]
            found = findings(folder, path, chosen * own)[0] + findings(folder, model, (chosen - mean) / std)[0]
            rows.setdefault(name, {})[path.stem] = ", ".join(found) or "-"
    columns = list(dict.fromkeys(c for row in rows.values() for c in row))
    print("| |" + "|".join(columns) + "|\n|" + "---|" * (len(columns) + 1))
    for name, row in rows.items():
        print(f"|{name}|" + "|".join(row.get(c, "") for c in columns) + "|")


def nets(colour):
    if FASHION.exists():
        pictures, labels = fashion(3000)
        for name in ("resnet8", "mobilenetv2"):
            yield cli.ROOT / f"zoo/{name}_fashion.onnx", pictures, labels
    if SHARED.exists():
        pictures, labels = cifar("cifar10_calib.bin")
        for name in colour:
            yield SHARED / f"models/{name}_cifar10.onnx", pictures, labels


def clean_sets(pictures):
    """Ten choices, small and large."""
    for seed, count in enumerate((16, 20, 32, 50, 50, 64, 100, 100, 200, 500)):
        yield pictures[np.random.default_rng(seed).permutation(len(pictures))[:count]]


def planted(folder, path, pictures, labels):
    """Every mistake is found by the check that knows it, and ten clean sets by none."""
    model, mean, std = with_mean_and_std(folder, path, pictures)
    for name, (wanted, samples) in mistakes(pictures, labels, mean, std).items():
        found, text = findings(folder, model, samples)
        check.that(found == [wanted], f"{path.stem}, {name}: {wanted} alone", found or text)
    for number, chosen in enumerate(clean_sets(pictures)):
        found, text = findings(folder, model, (chosen - mean) / std)
        check.that(found == [], f"{path.stem}, clean set {number}: nothing", text)


def as_given(folder, path, pictures):
    """The net with what it wants itself."""
    full = 1 if pictures.shape[1] == 1 else 255
    found, text = findings(folder, path, next(clean_sets(pictures)) * full)
    check.that(found == [], f"{path.stem}, as it is: nothing", text)


def errors(folder, path, picture):
    """What is certainly wrong stops, with exit code 2 and no bundle, unless --no-lint is given."""
    for name, samples, words in (("one picture", [picture] * 20, "all calibration samples are the same"),
                                 ("plain ones", [np.full_like(picture, i / 20) for i in range(20)], "one number only")):
        place = folder / name.replace(" ", "_")
        place.mkdir()
        for i, sample in enumerate(samples):
            np.save(place / f"{i}.npy", sample[None].astype(np.float32))
        bundle = folder / "never.lsb"
        done = cli.run("build", path, "--target", "cpu", "--calibrate", place, "-o", bundle)
        check.refuses(f"{name} stop", done, [words, "--no-lint"])
        check.that(not bundle.exists(), f"{name}: no bundle")
        done = cli.run("build", path, "--target", "cpu", "--calibrate", place, "--no-lint", "-o", bundle)
        check.that(done.returncode == 0 and bundle.exists(), f"{name} with --no-lint", done.stderr)
        bundle.unlink(missing_ok=True)


with tempfile.TemporaryDirectory() as temporary:
    folder = pathlib.Path(temporary)
    if "--table" in sys.argv:
        table(folder, nets(COLOUR_NETS))
        sys.exit(0)
    if not FASHION.exists():
        print("SKIP all of it: fashion-mnist is not there (Debian package dataset-fashion-mnist)")
    if not SHARED.exists():
        print("SKIP colour: shared/data is not there")
    for path, pictures, labels in nets(COLOUR_NETS):
        if path.stem in ("resnet8_fashion", "mobilenetv2_hybrid_cifar10"):
            planted(folder, path, pictures, labels)
        as_given(folder, path, pictures)
        if path.stem == "resnet8_fashion":
            errors(folder, path, pictures[0])
sys.exit(check.finish())
