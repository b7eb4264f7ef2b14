"""Texts drawn at random, parsed by the parser of the device, on a GPU or emulated, and by that of the CPU.

python -m tests.emulation.fuzz --texts 1000000 --seed 5
python -m tests.emulation.fuzz --texts 10000 --seed 6 --gpu
"""

from __future__ import annotations

import argparse
import sys
import time

from gravel.kernels.text import pairs_cuda
from tests.emulation import strict_cupy, test_text_pairs
from tests.emulation.test_text_pairs import GRAMMARS, compare, texts

BETWEEN = 60.0
"""Seconds between lines that say how far it is."""


def main() -> None:
    """Compare so many texts; a difference ends it, with the text."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--texts", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--gpu", action="store_true", help="parse on the GPU")
    asked = parser.parse_args()
    if asked.gpu:
        import cupy

        replaced = (test_text_pairs, "on_device", cupy.asarray)
    else:
        sys.modules["cupy"] = strict_cupy.module()
        replaced = (pairs_cuda, "load", strict_cupy.load)
    setattr(*replaced)
    began = told = time.monotonic()
    parsed = 0
    for count, (name, data) in enumerate(texts(asked.seed, asked.texts), 1):
        parsed += compare(data, GRAMMARS[name])
        now = time.monotonic()
        if now - told > BETWEEN or count == asked.texts:
            told = now
            print(f"{count:,} texts equal, {parsed:,} parsed by the device, {now - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
