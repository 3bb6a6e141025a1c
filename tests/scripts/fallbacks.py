#!/usr/bin/env python3
"""Every fallback of the models has a price and a change or a reason why none is known; for at least 20, applying the change removes it and
the model is faster.

Without LONGSHORE_FULL=1 only small models. The gain that is printed is what the simulator predicts for the changed model, gain or loss.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from cli import ROOT, Checks, run

MODELS = pathlib.Path(os.environ.get("LONGSHORE_MODELS", pathlib.Path.home() / ".cache/longshore/models"))
DATA = ROOT.parent / "shared/data/models"
TARGETS = ["rk3588-like", "shore-1", "ethos-u55-256-like"]
FAST = ["--calibrate-limit", "1", "--calibrator", "min_max", "--no-bias-correction"]
PADDLE = "p2o.DynamicDimension."
MADE = ["vit_tiny"]  # by bench/make_models.py
FETCHED = {"ppocr2_cls": f"{PADDLE}0=1 {PADDLE}1=48 {PADDLE}2=192", "silero_vad_flat16k": ""}
if os.environ.get("LONGSHORE_FULL"):
    MADE += ["mobilenet_v2", "mobilenet_v3", "resnet50", "yolov5s", "bert_base_128"]
    FETCHED |= {"efficientnet_lite0": "batch=1", "minilm_l6_v2": "batch=1 sequence=64", "ppocr4_rec": f"{PADDLE}0=1 {PADDLE}1=320",
                "ppocr4_det": f"{PADDLE}0=1 {PADDLE}1=320 {PADDLE}2=320"}
    TARGETS += ["ethos-u65-512-like"]

check = Checks()
kept, gone, gained, borders, skipped = 0, 0, 0, 0, not DATA.exists()
with tempfile.TemporaryDirectory() as temporary:
    folder = pathlib.Path(temporary)
    subprocess.run([sys.executable, ROOT / "bench/make_models.py", folder, *MADE], check=True, stdout=subprocess.DEVNULL)
    cases = [(path, "") for path in sorted(DATA.glob("*.onnx"))] + [(folder / f"{name}.onnx", "") for name in MADE]
    cases += [(MODELS / f"{name}.onnx", dims) for name, dims in FETCHED.items()]
    for model, dims in cases:
        if not model.exists():
            print(f"SKIP {model.stem}: not fetched")
            skipped = True
            continue
        options = [word for dim in dims.split() for word in ("--dim", dim)]
        for target in TARGETS:
            done = run("build", model, "--target", target, "--suggest", "--json", *FAST, *options, timeout=1200)
            where = f"{model.stem} on {target}"
            if done.returncode == 2 and "npu.dram.bytes" in done.stderr:
                print(f"{where}: its activations do not fit")
                continue
            if not check.that(done.returncode == 0, where, done.stderr[-500:]):
                continue
            report = json.loads(done.stdout.strip().splitlines()[-1])
            on_cpu = {node["name"]: node for node in report["nodes"] if node["unit"] == "cpu"}
            borders += sum(node["kept_by"] == "border" for node in on_cpu.values())
            told = set()
            for s in report["suggestions"]:
                names = [node["name"] for node in s["nodes"]]
                told.update(names)
                kept += len(names)
                change = s["change"]
                check.that(s["reasons"] and all(r["text"] for r in s["reasons"]), f"{where}: {names[0]} says why", str(s))
                check.that(all(on_cpu[name]["cpu_us"] is not None for name in names), f"{where}: {names[0]} has a price", str(s))
                check.that(bool(change) != bool(s.get("why_none")), f"{where}: {names[0]} has a change or says why not", str(s))
                if not change:
                    continue
                result = "gone" if change["gone"] else f"left: {change['left']}"
                print(f"{where}: {len(names)} x {s['op']} ({s['us']:.1f} us): {change['name']}, {'exact' if change['exact'] else change['answers']}: "
                      f"{change['before_ms']:.3f} -> {change['after_ms']:.3f} ms, {result}", flush=True)
                gone += len(names) if change["gone"] else 0
                gained += len(names) if change["gone"] and change["after_ms"] < 0.99 * change["before_ms"] else 0
            missing = {name for name, node in on_cpu.items() if node["kept_by"] != "border"} - told
            check.that(not missing, f"{where}: every fallback is told", str(missing))
print(f"{kept} fallbacks, {gone} that a change removes, {gained} of them with a gain of 1 % or more; {borders} casts at borders, which are none")
check.that(gained >= 20 or skipped, "at least 20 fallbacks go with a gain", str(gained))
sys.exit(check.finish())
