"""Texts drawn at random, parsed by the emulated parser of the device and by that of the CPU.

python -m tests.emulation.fuzz --texts 1000000 --seed 5
"""

from __future__ import annotations

import argparse
import sys
import time

from gravel.kernels.text import pairs_cuda
from tests.emulation import grid_kernels, numpy_as_cupy
from tests.emulation.test_text_pairs import GRAMMARS, compare, texts

BETWEEN = 60.0
"""Seconds between lines that say how far it is."""


def main() -> None:
    """Compare so many texts; a difference ends it, with the text."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--texts", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=5)
    asked = parser.parse_args()
    sys.modules["cupy"] = numpy_as_cupy.module()
    pairs_cuda.load = grid_kernels.load
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
