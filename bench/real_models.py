#!/usr/bin/env python3
"""What quantisation leaves of real models, beside ONNX Runtime's float: sentences through MiniLM, rendered lines through PP-OCR recognition.

    $(script/oracle_env) bench/real_models.py [--target NAME] [OPTIONS ...]

Each OPTIONS is one word of the shell, options of `build`: "" (the default), "--no-equalise", "--precision int16", "--min-sqnr 18". Models are
those that script/models got; 40 samples made here calibrate them, others are compared. MiniLM: the mean cosine of the mean of the last hidden
states of 8 sentences of random tokens, padded to 32 or 32 long. PP-OCR: of 20 lines, words of the licence in DejaVu fonts, how many are read as
float reads them, and the SQNR of the outputs.
"""
import argparse
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import numpy
import onnxruntime
from PIL import Image, ImageDraw, ImageFont

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODELS = pathlib.Path(os.environ.get("LONGSHORE_MODELS", pathlib.Path.home() / ".cache/longshore/models"))
TOOL = pathlib.Path(os.environ.get("LONGSHORE", ROOT / "build/release/longshore"))
FONTS = sorted(pathlib.Path("/usr/share/fonts/truetype/dejavu").glob("DejaVuS*.ttf"))
CALIBRATED = 40


def quantised_outputs(model, dims, samples, tests, target, options, output):
    """What the program gives for each of the tests, and its milliseconds."""
    with tempfile.TemporaryDirectory() as temporary:
        folder, command = pathlib.Path(temporary), [TOOL, "build", model, "--target", target, "-o", f"{temporary}/m.lsb", "--json", *options]
        for name in samples[0]:
            (folder / name).mkdir()
            for i, sample in enumerate(samples):
                numpy.save(folder / name / f"{i:03}.npy", sample[name])
            command += ["--calibrate", f"{name}={folder / name}"]
        for dim in dims:
            command += ["--dim", dim]
        built = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if built.returncode != 0:
            sys.exit(f"{model.name} {' '.join(options)}: {built.stderr[-1000:]}")
        outputs = []
        for test in tests:
            given = []
            for name, array in test.items():
                numpy.save(folder / "input.npy" if len(test) == 1 else folder / f"{name}.npy", array)
                given += ["--input", f"{name}={folder / 'input.npy' if len(test) == 1 else folder / f'{name}.npy'}"]
            subprocess.run([TOOL, "run", folder / "m.lsb", *given, "--output-dir", folder / "out"], check=True, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)
            outputs.append(numpy.load(folder / "out" / f"{output.replace('/', '_')}.npy"))
        return outputs, json.loads(built.stdout.splitlines()[-1])["latency_ms"]


def sentence(rng, length, padded):
    words = int(rng.integers(6, length - 4)) if padded else length
    tokens, mask = numpy.zeros((1, length), numpy.int64), numpy.zeros((1, length), numpy.int64)
    tokens[0, :words] = [101, *rng.integers(1996, 20000, words - 2), 102]
    mask[0, :words] = 1
    return {"input_ids": tokens, "attention_mask": mask, "token_type_ids": numpy.zeros((1, length), numpy.int64)}


def minilm(target, options, padded):
    model, length, rng = MODELS / "minilm_l6_v2.onnx", 32, numpy.random.default_rng(3)
    samples, tests = ([sentence(rng, length, padded) for _ in range(count)] for count in (CALIBRATED, 8))
    session = onnxruntime.InferenceSession(model)
    output = session.get_outputs()[0].name
    got, ms = quantised_outputs(model, ["batch=1", f"sequence={length}"], samples, tests, target, options, output)
    cosines = []
    for test, values in zip(tests, got):
        mask = test["attention_mask"][0][:, None]
        a, b = ((hidden.reshape(length, -1) * mask).sum(0) for hidden in (values, session.run([output], test)[0]))
        cosines.append(float(a @ b / numpy.linalg.norm(a) / numpy.linalg.norm(b)))
    return f"mean cosine {numpy.mean(cosines):.4f}, least {min(cosines):.4f}; {ms:.3f} ms"


def line(words, rng):
    """Words on a plain ground with some noise, as the model wants pictures."""
    font = ImageFont.truetype(str(rng.choice(FONTS)), rng.randint(22, 30))
    text = " ".join(rng.choice(words) for _ in range(rng.randint(2, 4)))[:24]
    picture = Image.new("RGB", (320, 48), (rng.randint(180, 255),) * 3)
    ImageDraw.Draw(picture).text((6, rng.randint(4, 12)), text, font=font, fill=tuple(rng.randint(0, 80) for _ in range(3)))
    array = numpy.asarray(picture, numpy.float32).transpose(2, 0, 1)[None]
    array = array + numpy.random.default_rng(rng.randint(0, 1 << 30)).normal(0, 4, array.shape)
    return (numpy.clip(array, 0, 255) / 127.5 - 1).astype(numpy.float32)


def read(scores):
    """The labels of a line: repetitions are one, 0 is none."""
    labels = scores[0].argmax(-1)
    return [int(a) for a, before in zip(labels, [0, *labels]) if a not in (before, 0)]


def recognition(target, options):
    model, rng = MODELS / "ppocr4_rec.onnx", random.Random(5)
    words = [w for w in re.findall(r"[A-Za-z0-9.,-]+", (ROOT / "LICENSE").read_text()) if 2 < len(w) < 12]
    samples, tests = ([{"x": line(words, rng)} for _ in range(count)] for count in (CALIBRATED, 20))
    session = onnxruntime.InferenceSession(model)
    output = session.get_outputs()[0].name
    dims = ["p2o.DynamicDimension.0=1", "p2o.DynamicDimension.1=320"]
    got, ms = quantised_outputs(model, dims, samples, tests, target, options, output)
    want = [session.run([output], test)[0] for test in tests]
    same = sum(read(a) == read(b) for a, b in zip(got, want))
    noise, signal = (sum(float((x**2).sum()) for x in list) for list in ([a - b for a, b in zip(got, want)], want))
    return f"{same} of {len(tests)} lines as float reads them, {10 * numpy.log10(signal / noise):.1f} dB; {ms:.3f} ms"


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--target", default="rk3588-like")
parser.add_argument("options", nargs="*", metavar="OPTIONS", default=[""])
given, unknown = parser.parse_known_args()
for options in given.options + unknown:
    print(f"build {options}".rstrip())
    for name, measure in (("MiniLM, padded", lambda o: minilm(given.target, o, True)), ("MiniLM, full", lambda o: minilm(given.target, o, False)),
                          ("PP-OCR recognition", lambda o: recognition(given.target, o))):
        print(f"  {name:<20} {measure(options.split())}", flush=True)
