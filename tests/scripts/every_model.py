#!/usr/bin/env python3
"""Real models of vision, text and sound build for several targets, and the simulator gives every byte of the quantised reference.

Whatever is left to the CPU has a price, a reason and a change that would remove that. A model that a target's memory cannot hold is refused by the name of that memory. Without LONGSHORE_FULL=1 only small models that
script/models fetches; with it all of its groups, the nets of bench/make_models.py and of ../shared/data/models.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from cli import ROOT, Checks, run

MODELS = pathlib.Path(os.environ.get("LONGSHORE_MODELS", pathlib.Path.home() / ".cache/longshore/models"))
DATA = ROOT.parent / "shared/data/models"
FULL = bool(os.environ.get("LONGSHORE_FULL"))
TARGETS = ["rk3588-like", "rk3588-3cores-like", "shore-1", "ethos-u55-256-like"] if FULL else ["rk3588-like", "shore-1", "ethos-u55-256-like"]
# 16-bit codes, too, where the NPU has them.
BUILDS = [(target, "int8") for target in TARGETS] + [(target, "int16") for target in ("rk3588-like", "ethos-u55-256-like")]
FAST = ["--calibrate-limit", "1", "--calibrator", "min_max", "--no-bias-correction"]
PADDLE = "p2o.DynamicDimension."
SMALL = {"ppocr2_cls": f"--dim {PADDLE}0=1 --dim {PADDLE}1=48 --dim {PADDLE}2=192", "silero_vad_flat16k": "",
         "silero_vad": "--shape input=1,576 --shape state=2,1,128 --input-value sr=16000"}
LARGE = {
    "basic_pitch": "--dim unk__749=1", "blazeface_back256": "", "blazeface_front128": "", "ddddocr_det": "", "dfn3_df_dec": "--dim S=50",
    "dfn3_enc": "--dim S=50", "dfn3_erb_dec": "--dim S=50", "dtln_1": "", "dtln_2": "", "eeg_seizure_cnnlstm": "--dim batch=1 --dim time=60",
    "eeg_spindle_unet": "--dim batch_size=1", "efficientnet_lite0": "--dim batch=1", "magika": "--dim unk__214=1",
    "minilm_l6_v2": "--dim batch=1 --dim sequence=64", "nsnet2": "--dim batch_size=1 --dim frames=50", "oww_embedding": "--dim unk__314=1",
    "oww_melspectrogram": "--dim batch_size=1 --dim samples=16000", "ppocr4_det": f"--dim {PADDLE}0=1 --dim {PADDLE}1=320 --dim {PADDLE}2=320",
    "ppocr4_rec": f"--dim {PADDLE}0=1 --dim {PADDLE}1=320", "silero_vad_legacy": "--dim batch=1 --dim sequence=512 --input-value sr=16000",
    "silero_vad_op18": "--dim batch=1 --dim sequence=576 --input-value sr=16000", "silero_vad_seq16k": "--dim sequence_length=20",
    "thai_attacut_c": "--dim seq_len=64", "thai_deepcut": "--dim unk__330=16 --dim unk__331=16",
    "thai_oskut_ws": "--dim unk__2044=16 --dim unk__2045=16 --dim unk__2046=16", "esrgan_slim_x2": "--shape image=1,3,64,64",
}
MADE = ["mobilenet_v2", "mobilenet_v3", "resnet50", "yolov5s", "vit_tiny", "bert_base_128"]

check = Checks()
with tempfile.TemporaryDirectory() as temporary:
    folder = pathlib.Path(temporary)
    cases = [(MODELS / f"{name}.onnx", options) for name, options in SMALL.items()]
    if FULL:
        for group in ("core", "more"):
            subprocess.run([ROOT / "script/models", "", group], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        subprocess.run([sys.executable, ROOT / "bench/make_models.py", folder, *MADE], check=True, stdout=subprocess.DEVNULL)
        cases += [(MODELS / f"{name}.onnx", options) for name, options in LARGE.items()]
        cases += [(path, "") for path in sorted(DATA.glob("*.onnx"))] + [(folder / f"{name}.onnx", "") for name in MADE]
    for model, options in cases:
        if not model.exists():
            print(f"SKIP {model.stem}: {model.name} is not in models (script/models fetches it)")
            continue
        for target, precision in BUILDS:
            where, bundle = f"{model.stem} on {target} in {precision}", folder / "model.lsb"
            built = run("build", model, "--target", target, "--precision", precision, "--json", "-o", bundle, *FAST, *options.split(), timeout=1200)
            if built.returncode == 2 and re.search(r"take \d+ bytes, but npu\.\S+ of \S+ is \d+", built.stderr):
                print(f"{where}: refused: {built.stderr.strip().splitlines()[-1]}", flush=True)
                continue
            if not check.that(built.returncode == 0, where, built.stderr[-500:]):
                continue
            report = json.loads(built.stdout.strip().splitlines()[-1])
            compared = run("compare", bundle, "--limit", "1", timeout=1200)
            last = (compared.stdout.strip().splitlines() or [""])[-1]
            check.that(compared.returncode == 0 and last.endswith(" bytes compared, 0 different"), where, last or compared.stderr[-500:])
            peak, bound = report["dram_peak_bytes"], report["dram_lower_bound_bytes"]
            check.that(10 * peak <= 11 * bound, f"{where}: memory", f"{peak} bytes, where {bound} live at once")
            host = [node for node in report["nodes"] if node["unit"] == "cpu"]
            silent = [n["name"] for n in host if n["cpu_us"] is None or not n["reasons"] or not all(r["change"] for r in n["reasons"])]
            check.that(not silent, f"{where}: fallbacks without price, reason or change", silent[:10])
            on_npu = f"{report['npu_mac_share'] * 100:.1f} % of {report['macs'] / 1e6:.1f} MMAC on the NPU"
            print(f"{where}: {on_npu}, {report['latency_ms']:.3f} ms; {last}", flush=True)
sys.exit(check.finish())
