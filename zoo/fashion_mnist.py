"""Fashion-MNIST as the Debian package dataset-fashion-mnist has it: four gzipped IDX files."""
import gzip
import pathlib

import numpy as np


def read_idx(path):
    raw = gzip.open(path).read()
    shape = [int.from_bytes(raw[4 + 4 * i:8 + 4 * i], "big") for i in range(raw[3])]
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * raw[3]).reshape(shape)


def read_split(folder, split):
    """split: "train" (60,000 pictures) or "t10k" (10,000). Returns u8 [N,28,28] and u8 [N]."""
    folder = pathlib.Path(folder)
    return (read_idx(folder / f"{split}-images-idx3-ubyte.gz"),
            read_idx(folder / f"{split}-labels-idx1-ubyte.gz"))
