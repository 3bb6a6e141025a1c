#!/usr/bin/env python3
"""What the comments of two fitted targets claim of their error is what the compiler predicts today."""
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from cli import LONGSHORE, ROOT

failed = [chip for chip in ("rk3588", "rk3566")
          if subprocess.run([sys.executable, ROOT / "bench/fit_rockchip.py", chip, "--check"],
                            env=dict(os.environ, LONGSHORE=str(LONGSHORE))).returncode != 0]
sys.exit(bool(failed))
