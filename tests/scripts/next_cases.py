#!/usr/bin/env python3
"""Each case of shared/cases/next, where that folder lies beside the checkout: found faults, kept as their reporters sent them."""
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import cli

FOLDER = pathlib.Path("shared/cases/next")
beside = [parent / FOLDER for parent in cli.ROOT.parents if (parent / FOLDER / "check.py").exists()]
if not beside:
    print(f"SKIP {FOLDER} is not beside this checkout")
    sys.exit(0)
cli.with_oracle()
sys.exit(subprocess.run([sys.executable, beside[0] / "check.py", cli.LONGSHORE]).returncode)
