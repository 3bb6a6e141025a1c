#!/usr/bin/env python3
"""What `longshore quantise` writes, in ONNX Runtime: against Longshore's own integers, and read again.

    "$(script/oracle_env)" tests/oracle/qdq_export.py [--full]

Nets: the zoo's and, where shared/data lies beside the repository, those on CIFAR-10 with its pictures. Each is quantised to 8 bits (two of
them to 16 as well) and written with i8 and with u8 activations. ONNX Runtime runs the files with its optimisations off and on; the labels
must be those of the bundle that `build` makes of the same model in 99.9 % of all answers, and Longshore must give the same bytes for the
file as for the bundle. Operators: every example of src/ops is written; where the operator quantises, floats pass a product first, so that
it has codes to compute on. Codes may differ by one step, which ONNX Runtime's float arithmetic or its own integer operators account for.
Every file passes onnx.checker with full_check.
"""
import ast
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DATA = ROOT.parent / "shared/data"
LONGSHORE = pathlib.Path(os.environ.get("LONGSHORE", ROOT / "build/release/longshore"))
FULL = "--full" in sys.argv
OFF, ON = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL, onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
# On x86 ONNX Runtime turns i8 into u8 by itself, not everywhere and not always correctly: its pass leaves a zero point of one type
# beside codes of the other where it has moved a pair. With `session.qdqisint8allowed` it takes i8 as it is.
LEVELS = {"off": (OFF, "0"), "on": (ON, "0"), "on, i8 allowed": (ON, "1")}


def longshore(*arguments):
    done = subprocess.run([LONGSHORE, *arguments], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"longshore {arguments[0]}: {done.stderr.strip()}")
    return done.stdout


def session(path, level):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    options.graph_optimization_level, allowed = LEVELS[level]
    options.add_session_config_entry("session.qdqisint8allowed", allowed)
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def outputs_in(folder, names):
    return [np.load(folder / f"{name.replace('/', '_')}.npy") for name in names]


# ---- nets
def pictures(count, source):
    """CIFAR-10's test pictures in turn of class, or pictures with smooth areas."""
    if source:
        records = np.frombuffer((DATA / "cifar10_test.bin").read_bytes(), np.uint8).reshape(-1, 3073)
        return records[:count, 1:].reshape(-1, 1, 3, 32, 32).astype(np.float32)
    rng = np.random.default_rng(1)
    return np.kron(rng.random((count, 1, 1, 7, 7), np.float32), np.ones((4, 4), np.float32)) * (rng.random((count, 1, 1, 28, 28), np.float32) * 0.2 + 0.8)


def net(path, precision, folder, answers):
    cifar = path.parent != ROOT / "zoo"
    count = (1000 if FULL else 200) // (1 if precision == "int8" else 4)
    images = pictures(count, cifar)
    np.save(folder / "images.npy", images)
    calibrate = ["--calibrate", f"cifar10:{DATA / 'cifar10_calib.bin'}"] if cifar else ["--calibrate", folder / "calibrate"]
    if not cifar:
        (folder / "calibrate").mkdir()
        for i, image in enumerate(pictures(count + 40, False)[count:]):
            np.save(folder / f"calibrate/{i:02}.npy", image)
    how = [path, "--precision", precision, "--calibrate-limit", "40", *calibrate]
    longshore("build", *how, "-o", folder / "net.lsb")
    want = None
    for activations in ("i8", "u8") if precision == "int8" else ("i8",):
        written = folder / f"{activations}.onnx"
        told = json.loads(longshore("quantise", *how, "--activations", activations, "-o", written, "--json"))
        onnx.checker.check_model(onnx.load(written), full_check=True)
        kept, name = session(written, "off").get_inputs()[0].name, session(written, "off").get_outputs()[0].name
        for model in ([folder / "net.lsb"] if want is None else []) + [written]:
            longshore("run", model, "--each", f"{kept}={folder / 'images.npy'}", "--output-dir", folder / "out")
            got = outputs_in(folder / "out", [name])[0].reshape(count, -1)
            want = got if want is None else want
            if not np.array_equal(got, want):
                yield f"{activations}: read again, {np.mean(got != want):.2%} of the outputs are not those of the bundle"
        for level in ("off", "on") if VNNI else ("off",):
            run = session(written, level)
            got = np.concatenate([run.run(None, {kept: image})[0].reshape(1, -1) for image in images])
            same = got.argmax(1) == want.argmax(1)
            answers["all"] += count
            answers["same"] += int(same.sum())
            print(f"  {path.stem} {precision} {activations}, optimisations {level}: {told['nodes']}, labels the same {same.mean():.2%}, "
                  f"outputs equal {np.mean(got == want):.1%}, SQNR {sqnr(want, got):.1f} dB", flush=True)
            if sqnr(want, got) < 30:
                yield f"{activations}, optimisations {level}: {sqnr(want, got):.1f} dB of the bundle's outputs"


def sqnr(want, got):
    return min(200, 10 * np.log10(np.square(want).sum() / max(np.square(want - got).sum(), 1e-20)))


# ---- operators
def examples():
    """(operator as `longshore ops` names it, text) of every example in src/ops."""
    for path in sorted((ROOT / "src/ops").glob("*.cpp")):
        text = path.read_text()
        found = re.search(r"\.examples\s*=\s*\{(.*?)\},?\s*\};", text, re.S)
        name = re.search(r'\.name = "(\w+)"', text)
        if not found or not name:
            continue
        for raw, plain in re.findall(r'R"\((.*?)\)"|((?:"(?:[^"\\]|\\.)*"\s*)+)', found[1], re.S):
            yield name[1], raw or "".join(ast.literal_eval(s) for s in re.findall(r'"(?:[^"\\]|\\.)*"', plain))


def with_codes(text):
    """The example with a product before its first input, so that quantise gives it codes; None where that is no f32 of rank 2 or more."""
    head, body = re.match(r"\((.*?)\)\s*\{(.*)", text.replace("[N,", "[2,"), re.S).groups()
    found = re.match(r"(\w+): f32\[(?:\d+,)+(\d+)\]", head)
    if not found or found[2] == "0":
        return None
    name, last = found[1], int(found[2])
    weights = np.eye(last) + np.random.default_rng(3).uniform(-0.3, 0.3, (last, last))
    shown = ",".join(f"{x:.3f}" for x in weights.ravel())
    return f"({head.replace(name, name + '_in', 1)}) {{ {name} = MatMul({name}_in, f32[{last},{last}]{{{shown}}}) {body}"


def step_of(model, output):
    """How far apart neighbours of an output are: 1 of codes; the scale of what is dequantised last; 0 of floats."""
    if any(o.name == output and o.type.tensor_type.elem_type not in (1, 10, 11, 16) for o in model.graph.output):
        return 1.0
    scales = {t.name: onnx.numpy_helper.to_array(t) for t in model.graph.initializer}
    for node in model.graph.node:
        if output in node.output and node.op_type == "DequantizeLinear":
            return float(np.max(scales[node.input[1]]))
    return 0.0


def example(text, integer, folder):
    """Writes one example and, where it has codes, runs it; yields what is wrong. Raises NotImplementedError where ONNX Runtime has no kernel."""
    source = folder / "g.txt"
    source.write_text(text)
    for activations in ("i8", "u8"):
        longshore("quantise", source, "--activations", activations, "-o", folder / f"{activations}.onnx")
        model = onnx.load(folder / f"{activations}.onnx")
        if all(o.type.tensor_type.HasField("shape") for o in model.graph.output):  # the checker wants a rank, ONNX Runtime does not
            onnx.checker.check_model(model, full_check=True)
    if not integer:
        return
    if " q(" not in text:
        longshore("build", source, "--precision", "int8", "-o", folder / "g.lsb")
        source = folder / "g.lsb"
    try:
        runs = {"i8, optimisations off": session(folder / "i8.onnx", "off"), "u8, optimisations on": session(folder / "u8.onnx", "on"),
                "i8, optimisations on": session(folder / "i8.onnx", "on, i8 allowed")}
    except Exception as error:
        if "NOT_IMPLEMENTED" in str(error) or "Could not find an implementation" in str(error):
            raise NotImplementedError from error
        raise
    if not VNNI:
        runs = {name: run for name, run in runs.items() if name.endswith("off")}
    rng = np.random.default_rng(5)
    feeds, options = {}, []
    for i in runs["i8, optimisations off"].get_inputs():
        dims = [d if isinstance(d, int) else 2 for d in i.shape]
        if "float" in i.type:
            feeds[i.name] = rng.normal(0, 1, dims).astype({"tensor(float16)": np.float16, "tensor(double)": np.float64}.get(i.type, np.float32))
        elif i.type == "tensor(bool)":
            feeds[i.name] = rng.random(dims) < 0.5
        else:
            kind = np.dtype(i.type[7:-1])
            codes = kind.itemsize < 4 and " q(" in text
            feeds[i.name] = rng.integers(np.iinfo(kind).min if codes else 0, np.iinfo(kind).max + 1 if codes else 2, dims).astype(kind)
        np.save(folder / f"{i.name}.npy", feeds[i.name])
        options += ["--input", f"{i.name}={folder / (i.name + '.npy')}"]
    names = [o.name for o in runs["i8, optimisations off"].get_outputs()]

    def ours(path, on):
        longshore("run", path, *options, "--on", on, "--output-dir", folder / "out")
        return outputs_in(folder / "out", names)

    want = ours(source, "cpu")
    for activations in ("i8", "u8"):
        for name, a, b in zip(names, want, ours(folder / f"{activations}.onnx", "cpu")):
            if not np.array_equal(a, b, equal_nan=a.dtype.kind == "f"):
                yield f"{activations}, read again: {np.sum(a != b)} of {a.size} elements of {name} differ"
    for level, run in runs.items():
        for name, a, b in zip(names, want, run.run(None, feeds)):
            step = step_of(model, name)
            apart = np.abs(a.astype(np.float64) - b.astype(np.float64))
            near = apart <= step * 1.001 if step else ((apart <= 1e-4 + 1e-3 * np.abs(b)) | (np.isnan(a) & np.isnan(b))) | False
            if a.shape != b.shape or not np.all(near):
                yield f"{level}: {name} is {np.nanmax(apart) / (step or 1):.4g}{' steps' if step else ''} away"
            if step:
                COUNTS["equal"] += int(np.sum(apart == 0))
                COUNTS["codes"] += a.size


COUNTS = collections.Counter()
# ONNX Runtime's u8 x s8 products saturate on cores without VNNI, where it uses them: only with its optimisations on.
VNNI = "vnni" in pathlib.Path("/proc/cpuinfo").read_text()
# Where ONNX Runtime or onnx.checker is wrong, by operator and what is said of it.
KNOWN = {
    ("AveragePool", "optimisations on: y"): "com.microsoft.QLinearAveragePool counts other pads with ceil_mode and count_include_pad",
    ("MeanVarianceNormalization", "op_type:MeanVarianceNormalization"): "ONNX's own function body wants axes, and float32",
    ("RMSNormalization", "op_type:RMSNormalization"): "ONNX's own function body mixes the types of X and scale",
}


def operators():
    quantised = {op["name"]: op["quantised"] for op in json.loads(longshore("ops", "--json"))["operators"]}
    failed, ran, without, excused = 0, collections.Counter(), set(), set()
    for op, text in examples():
        integer = " q(" in text
        cases = [(text, integer)]
        if not integer and quantised[op] and (coded := with_codes(text)):
            cases.append((coded, True))
        for case, in_codes in cases:
            with tempfile.TemporaryDirectory() as temporary:
                try:
                    wrong = list(example(case, in_codes, pathlib.Path(temporary)))
                    ran["written"] += 1
                    ran["run"] += in_codes
                except NotImplementedError:
                    without.add(op)
                    continue
                except Exception as error:
                    wrong = [str(error)]
            known = {text for (name, text) in KNOWN if name == op and wrong and all(text in w for w in wrong)}
            wrong = [] if known else wrong
            excused |= {f"{op} ({KNOWN[op, text]})" for text in known}
            failed += bool(wrong)
            if wrong:
                print(f"FAIL {op}: {case[:200]}: {'; '.join(wrong)[:600]}", flush=True)
    print(f"{'FAIL' if failed else 'PASS'} operators: {ran['written']} examples written, {ran['run']} of them run in codes; of {COUNTS['codes']} codes {COUNTS['equal']} equal and the others one step away; "
          f"no kernel for examples of {', '.join(sorted(without)) or 'none'}; known: {'; '.join(sorted(excused)) or 'none'}", flush=True)
    return failed


def main():
    if not VNNI:
        print("SKIP optimisations on: this machine has no vnni")
    failed, answers = operators(), collections.Counter()
    nets = [(path, "int8") for path in sorted((ROOT / "zoo").glob("*.onnx"))]
    cifar = sorted((DATA / "models").glob("*_cifar10.onnx"))
    if not cifar:
        print("SKIP nets on CIFAR-10: shared/data/models is not there")
    nets += [(path, "int8") for path in cifar]
    nets += [(path, "int16") for path in [*nets[0][:1], *(p for p in cifar if p.stem == "vit_hybrid_cifar10")]]
    for path, precision in nets:
        with tempfile.TemporaryDirectory() as temporary:
            try:
                wrong = list(net(path, precision, pathlib.Path(temporary), answers))
            except Exception as error:
                wrong = [str(error)]
        failed += bool(wrong)
        print(f"{'FAIL' if wrong else 'PASS'} {path.stem} {precision}{': ' if wrong else ''}{'; '.join(wrong)}", flush=True)
    enough = answers["same"] >= 0.999 * answers["all"]
    print(f"{'PASS' if enough else 'FAIL'} labels: {answers['same']} of {answers['all']} are the bundle's")
    sys.exit(failed > 0 or not enough)


if __name__ == "__main__":
    main()
