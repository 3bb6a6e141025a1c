#!/usr/bin/env python3
"""Pictures as inputs against Pillow: decoding, resizing, cropping and borders must agree byte for byte.

Columns are resized before rows, as Pillow did in all cases before version 13; from then on it chooses, so each pass
is asked for by itself here.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy
from PIL import Image

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LONGSHORE = pathlib.Path(os.environ.get("LONGSHORE", ROOT / "build/release/longshore"))


def picture(width, height, seed):
    """Smooth areas, edges and noise."""
    rng = numpy.random.default_rng(seed)
    y, x = numpy.mgrid[0:height, 0:width]
    smooth = numpy.stack([x * 255 // width, y * 255 // height, (x + y) % 256], axis=2)
    noise = rng.integers(0, 256, (height, width, 3))
    return Image.fromarray(numpy.where((x // 16 + y // 16)[..., None] % 3 == 0, noise, smooth).astype(numpy.uint8))


def resized(image, width, height, box):
    x0, y0, x1, y1 = box
    columns = image.resize((width, image.size[1]), Image.BILINEAR, box=(x0, 0, x1, image.size[1]))
    return columns.resize((width, height), Image.BILINEAR, box=(0, y0, width, y1))


def expected(image, mode, width, height):
    w, h = image.size
    if mode == "stretch":
        return resized(image, width, height, (0, 0, w, h))
    if mode == "crop":
        cw, ch = min(w, h * (width / height)), min(h, w / (width / height))
        box = ((w - cw) / 2, (h - ch) / 2, (w - cw) / 2 + cw, (h - ch) / 2 + ch)
        return resized(image, width, height, box)
    scale = min(width / w, height / h)
    iw, ih = min(width, int(w * scale + 0.5)), min(height, int(h * scale + 0.5))
    out = Image.new("RGB", (width, height), (114, 114, 114))
    out.paste(resized(image, iw, ih, (0, 0, w, h)), ((width - iw) // 2, (height - ih) // 2))
    return out


def main():
    if not LONGSHORE.exists():
        print("SKIP longshore is not built")
        return 0
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        here = pathlib.Path(name)
        for seed, (w, h) in enumerate([(300, 200), (97, 211), (640, 480), (31, 17)]):
            for kind, options in (("png", {}), ("jpg", {"quality": 90})):
                file = here / f"{seed}.{kind}"
                picture(w, h, seed).save(file, **options)
                image = Image.open(file).convert("RGB")
                for width, height in ((224, 224), (w, h), (64, 200)):
                    (here / "same.txt").write_text(f"(x: u8[1,{height},{width},3]) {{ y = Identity(x) return y }}")
                    for mode in ("stretch", "crop", "letterbox"):
                        test = f"{kind} {w}x{h} to {width}x{height} {mode}"
                        done = subprocess.run([LONGSHORE, "run", here / "same.txt", "--input", file, "--resize", mode,
                                               "--output-dir", here / "out"], capture_output=True, text=True)
                        want = numpy.asarray(expected(image, mode, width, height))[None]
                        got = numpy.load(here / "out/y.npy") if done.returncode == 0 else None
                        if got is not None and numpy.array_equal(got, want):
                            print(f"PASS {test}")
                        else:
                            failed += 1
                            different = "" if got is None else f"{(got != want).sum()} bytes differ"
                            print(f"FAIL {test}: {different} {done.stderr.strip()[-200:]}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
