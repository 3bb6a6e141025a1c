#!/usr/bin/env python3
"""Real models against ONNX Runtime (its optimisations off), on the same inputs.

    tests/oracle/real_models.py [--on cpu,reference | --full] [--seconds N] [NAME...]

For each output: max |difference| / max |reference| <= 1e-4. Silero VAD runs over a whole recording with
its state carried, both the file with If and the flat one, whose outputs must agree exactly. The models are
those of script/models; one that is absent is one SKIP line, or a failure with --strict. Prints PASS or FAIL
for each model and engine; exit status 1 after a failure.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import wave

import numpy
import onnxruntime
from PIL import Image

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LONGSHORE = pathlib.Path(os.environ.get("LONGSHORE", ROOT / "build/release/longshore"))
MODELS = pathlib.Path(os.environ.get("LONGSHORE_MODELS") or pathlib.Path.home() / ".cache/longshore/models")
BOUND = 1e-4


def session(path):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def file_name(output):
    return output.replace("/", "_") + ".npy"


def ours(path, inputs, on, extra=()):
    """Runs `longshore run` on these inputs; the outputs by name of file."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        command = [str(LONGSHORE), "run", str(path), "--on", on, "--output-dir", str(folder / "out"), "--threads", "1"]
        for key, value in inputs.items():
            file = folder / f"in{len(command)}.npy"
            numpy.save(file, value)
            command += ["--input", f"{key}={file}"]
        for option, key, value in extra:
            if isinstance(value, numpy.ndarray):
                file = folder / f"in{len(command)}.npy"
                numpy.save(file, value)
                value = file
            command += [option, f"{key}={value}"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"exit status {done.returncode}: {done.stderr.strip()[-400:]}")
        return {f.name: numpy.load(f) for f in (folder / "out").iterdir()}


def worst(got, want):
    """max |difference| / max |reference|; infinite where dims or types differ."""
    if got.shape != want.shape or got.dtype != want.dtype:
        return float("inf"), f"{got.dtype}{list(got.shape)} instead of {want.dtype}{list(want.shape)}"
    if want.size == 0:
        return 0.0, ""
    if want.dtype.kind != "f":
        return (0.0, "") if numpy.array_equal(got, want) else (float("inf"), "integers differ")
    difference = numpy.abs(got.astype(numpy.float64) - want)
    if not numpy.all(numpy.isfinite(difference)):
        return float("inf"), "not finite"
    return float(difference.max() / max(numpy.abs(want).max(), 1e-30)), ""


def compare(path, inputs, on):
    reference = session(path)
    want = dict(zip([o.name for o in reference.get_outputs()], reference.run(None, inputs)))
    got = ours(path, inputs, on)
    most, why = 0.0, ""
    for name, value in want.items():
        error, reason = worst(got[file_name(name)], value)
        if error > most:
            most, why = error, f"{name}: {reason}"
    return most, why


def picture(name, width, height):
    """NCHW, between -1 and 1, as the OCR nets want it."""
    image = Image.open(MODELS / name).convert("RGB").resize((width, height), Image.BILINEAR)
    return ((numpy.asarray(image, numpy.float32) / 255 - 0.5) / 0.5).transpose(2, 0, 1)[None].copy()


def tokens(seed, count):
    rng = numpy.random.default_rng(seed)
    ids = rng.integers(1000, 30000, (1, count))
    return {"input_ids": ids, "attention_mask": numpy.ones_like(ids), "token_type_ids": numpy.zeros_like(ids)}


def spectrum(frames):
    rng = numpy.random.default_rng(3)
    return (rng.standard_normal((1, frames, 161)) * 2 - 3).astype(numpy.float32)


# name -> (file, other files it needs, inputs)
PLAIN = {
    "ppocr4_det": ("ppocr4_det.onnx", ["page.png"], lambda: {"x": picture("page.png", 320, 192)}),
    "ppocr4_rec": ("ppocr4_rec.onnx", ["page.png"], lambda: {"x": picture("page.png", 320, 48)}),
    "ppocr2_cls": ("ppocr2_cls.onnx", ["page.png"], lambda: {"x": picture("page.png", 192, 48)}),
    "minilm": ("minilm_l6_v2.onnx", [], lambda: tokens(1, 24)),
    "nsnet2": ("nsnet2.onnx", [], lambda: {"input": spectrum(50)}),
    "slanet (Loop)": ("slanet.onnx", ["page.png"], lambda: {"x": picture("page.png", 488, 488)}),
    "efficientnet_lite0": ("efficientnet_lite0.onnx", ["coffee.png"], lambda: None),
}


def chunks(seconds):
    """The recording as Silero wants it: 512 new samples after the 64 before them."""
    with wave.open(str(MODELS / "speech_16k_60s.wav")) as file:
        raw = numpy.frombuffer(file.readframes(file.getnframes()), numpy.int16)
    sound = raw.astype(numpy.float32) / 32768
    if seconds:
        sound = sound[: seconds * 16000]
    count = len(sound) // 512
    padded = numpy.concatenate([numpy.zeros(64, numpy.float32), sound[: count * 512]])
    return numpy.stack([padded[i * 512 : i * 512 + 576] for i in range(count)])[:, None, :].copy()


def silero(on, seconds):
    """Both files over the recording; returns [(label, error, why)]."""
    steps = chunks(seconds)
    results, answers = [], {}
    for name, with_rate in (("silero_vad.onnx", True), ("silero_vad_flat16k.onnx", False)):
        reference, state, want = session(MODELS / name), numpy.zeros((2, 1, 128), numpy.float32), []
        for step in steps:
            feed = {"input": step, "state": state}
            if with_rate:
                feed["sr"] = numpy.array(16000, numpy.int64)
            output, state = reference.run(["output", "stateN"], feed)
            want.append(output)
        extra = [("--each", "input", steps), ("--carry", "stateN", "state")]
        if with_rate:
            extra.append(("--input-value", "sr", 16000))
        got = ours(MODELS / name, {}, on, extra)
        answers[name] = got
        results.append((f"{name}, {len(steps)} steps", *worst(got["output.npy"], numpy.stack(want))))
    one, other = answers.values()
    equal = all(numpy.array_equal(one[k], other[k]) for k in ("output.npy", "stateN.npy"))
    results.append(("silero: If file == flat file", 0.0 if equal else float("inf"), "" if equal else "they differ"))
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--on", default="cpu", help="engines, with commas: cpu, reference")
    parser.add_argument("--full", action="store_true", help="on both engines")
    parser.add_argument("--seconds", type=int, default=0, help="of the recording; all of it")
    parser.add_argument("--strict", action="store_true", help="an absent model is a failure")
    parser.add_argument("name", nargs="*")
    o = parser.parse_args()
    if o.full:
        o.on = "cpu,reference"
    if not LONGSHORE.exists():
        print("SKIP longshore is not built")
        return 0
    failed = 0

    def report(label, error, why):
        nonlocal failed
        good = error <= BOUND
        failed += not good
        print(f"{'PASS' if good else 'FAIL'} {label}: max |difference| / max |reference| = {error:.2e}" + (f" ({why})" if why and not good else ""), flush=True)

    for on in o.on.split(","):
        for name, (file, others, inputs) in PLAIN.items():
            if o.name and not any(n in name for n in o.name):
                continue
            absent = [f for f in [file, *others] if not (MODELS / f).exists()]
            if absent:
                print(f"SKIP {name}: {absent[0]} is not in {MODELS} (script/models fetches it)")
                failed += o.strict
                continue
            try:
                path = MODELS / file
                feed = inputs()
                if feed is None:
                    only = session(path).get_inputs()[0]
                    feed = {only.name: picture(others[0], 224, 224)}
                report(f"{name} on {on}", *compare(path, feed, on))
            except RuntimeError as e:
                report(f"{name} on {on}", float("inf"), str(e))
        if o.name and not any("silero".startswith(n) or n.startswith("silero") for n in o.name):
            continue
        absent = [f for f in ("silero_vad.onnx", "silero_vad_flat16k.onnx", "speech_16k_60s.wav") if not (MODELS / f).exists()]
        if absent:
            print(f"SKIP silero: {absent[0]} is not in {MODELS} (script/models fetches it)")
            failed += o.strict
            continue
        try:
            for label, error, why in silero(on, o.seconds):
                report(f"{label} on {on}", error, why)
        except RuntimeError as e:
            report(f"silero on {on}", float("inf"), str(e))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
