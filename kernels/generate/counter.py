"""A counter-based random function on 64 bits: any draw without the draws before it.

`mix_integer` is the output function of SplitMix64 (Steele, Lea, Flood, Fast Splittable Pseudorandom Number
Generators, OOPSLA 2014, figure 16 with the constants of variant 13), applied to `start + index * STEP`.
"""

from __future__ import annotations

MASK = (1 << 64) - 1
STEP = 0x9E3779B97F4A7C15  # 2^64 over the golden ratio, odd
FIRST = 0xBF58476D1CE4E5B9
SECOND = 0x94D049BB133111EB


def mix_integer(value: int) -> int:
    """Turn a counter into 64 random bits; `gravel.kernels.generate.draws.mix` does in compiled code."""
    value = ((value ^ (value >> 30)) * FIRST) & MASK
    value = ((value ^ (value >> 27)) * SECOND) & MASK
    return value ^ (value >> 31)


def draw(seed: int, stream: int, index: int = 0) -> int:
    """A 64-bit number that depends on the seed, on what it is for, and on an index."""
    start = mix_integer((mix_integer(seed & MASK) + stream * STEP) & MASK)
    return mix_integer((start + (seed >> 64) * FIRST + index * STEP) & MASK)
