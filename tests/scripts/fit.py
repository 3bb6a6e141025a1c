#!/usr/bin/env python3
"""What the comments of targets/rk3588-like.toml claim of its error is what the compiler predicts today."""
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from cli import LONGSHORE, ROOT

sys.exit(subprocess.run([sys.executable, ROOT / "bench/fit_rk3588.py", "--check"],
                        env=dict(os.environ, LONGSHORE=str(LONGSHORE))).returncode)
