"""Sets of texts: hash tables over bytes, and keys by which texts are sorted.

Texts are given as Arrow has them: text i is `text[offsets[i]:offsets[i + 1]]`. A table is `slots`, uint64:
0 for an empty one, else the upper half of the text's hash, and its number + 1 below that. Collisions go to
the next slot. The texts of a table lie one after the other, in the order in which they came.
"""

from __future__ import annotations

from typing import Any

from numba import uint64
from numpy.typing import NDArray

from gravel.kernels.jit import serial

_MULTIPLIER = 0x9E3779B97F4A7C15
_LOWER = 0xFFFFFFFF


@serial
def _mixed(value: Any) -> Any:
    """Mix 64 bits (the finalizer of MurmurHash3, by Appleby)."""
    value ^= value >> uint64(33)
    value *= uint64(0xFF51AFD7ED558CCD)
    value ^= value >> uint64(33)
    value *= uint64(0xC4CEB9FE1A85EC53)
    return value ^ (value >> uint64(33))


@serial
def _word(text: NDArray[Any], begin: int, end: int) -> Any:
    """Return up to 8 bytes as a big-endian number, with zeros behind the end."""
    if end - begin >= 8:
        return (
            (uint64(text[begin]) << uint64(56))
            | (uint64(text[begin + 1]) << uint64(48))
            | (uint64(text[begin + 2]) << uint64(40))
            | (uint64(text[begin + 3]) << uint64(32))
            | (uint64(text[begin + 4]) << uint64(24))
            | (uint64(text[begin + 5]) << uint64(16))
            | (uint64(text[begin + 6]) << uint64(8))
            | uint64(text[begin + 7])
        )
    found = uint64(0)
    for place in range(begin, end):
        found |= uint64(text[place]) << uint64(56 - 8 * (place - begin))
    return found


@serial
def _hash(text: NDArray[Any], begin: int, end: int, seed: Any) -> Any:
    found = seed ^ (uint64(end - begin) * uint64(_MULTIPLIER))
    for place in range(begin, end, 8):
        found = _mixed((found + uint64(_MULTIPLIER)) ^ _word(text, place, end))
    return _mixed(found)


@serial
def hash_texts(
    text: NDArray[Any],
    offsets: NDArray[Any],
    seed: Any,
    shards: int,
    hashes: NDArray[Any],
    starts: NDArray[Any],
    sizes: NDArray[Any],
    order: NDArray[Any],
) -> None:
    """Hash all texts, and list them by shard: those of shard s are `order[starts[s]:starts[s + 1]]`.

    `sizes` gets the bytes of each shard's texts. `shards` is a power of two.
    """
    starts[:] = 0
    sizes[:] = 0
    mask = uint64(shards - 1)
    for i in range(len(hashes)):
        found = _hash(text, offsets[i], offsets[i + 1], uint64(seed))
        hashes[i] = found
        shard = (found >> uint64(32)) & mask
        starts[shard + uint64(1)] += 1
        sizes[shard] += offsets[i + 1] - offsets[i]
    for shard in range(shards):
        starts[shard + 1] += starts[shard]
    for i in range(len(hashes)):
        shard = (hashes[i] >> uint64(32)) & mask
        order[starts[shard]] = i
        starts[shard] += 1
    for shard in range(shards, 0, -1):
        starts[shard] = starts[shard - 1]
    starts[0] = 0


@serial
def _same(text: NDArray[Any], begin: int, end: int, other: NDArray[Any], first: int, last: int) -> bool:
    if end - begin != last - first:
        return False
    same = 0
    while same < end - begin and text[begin + same] == other[first + same]:
        same += 1
    return same == end - begin


@serial
def insert_texts(
    text: NDArray[Any],
    offsets: NDArray[Any],
    hashes: NDArray[Any],
    order: NDArray[Any],
    slots: NDArray[Any],
    known: NDArray[Any],
    known_offsets: NDArray[Any],
    count: int,
    shards: int,
    shard: int,
    codes: NDArray[Any],
) -> int:
    """Add the texts that `order` lists to one shard; returns how many it then has.

    `codes[i]` becomes the number of text i in the shard, times `shards`, plus `shard`. The shard has room:
    free slots, bytes in `known` and entries in `known_offsets` for all of them.
    """
    mask = uint64(len(slots) - 1)
    for j in range(len(order)):
        i = order[j]
        begin, end = offsets[i], offsets[i + 1]
        tag = (hashes[i] >> uint64(32)) << uint64(32)
        place = hashes[i] & mask
        while True:
            slot = slots[place]
            if slot == uint64(0):
                first = known_offsets[count]
                for k in range(end - begin):
                    known[first + k] = text[begin + k]
                known_offsets[count + 1] = first + end - begin
                slots[place] = tag | uint64(count + 1)
                codes[i] = count * shards + shard
                count += 1
                break
            if slot & ~uint64(_LOWER) == tag:
                number = int(slot & uint64(_LOWER)) - 1
                if _same(text, begin, end, known, known_offsets[number], known_offsets[number + 1]):
                    codes[i] = number * shards + shard
                    break
            place = (place + uint64(1)) & mask
    return count


@serial
def fill_slots(
    known: NDArray[Any], known_offsets: NDArray[Any], count: int, seed: Any, slots: NDArray[Any]
) -> None:
    """Put the texts of a shard, all different, into empty slots."""
    mask = uint64(len(slots) - 1)
    for number in range(count):
        found = _hash(known, known_offsets[number], known_offsets[number + 1], uint64(seed))
        place = found & mask
        while slots[place] != uint64(0):
            place = (place + uint64(1)) & mask
        slots[place] = ((found >> uint64(32)) << uint64(32)) | uint64(number + 1)


@serial
def sort_keys(
    text: NDArray[Any], offsets: NDArray[Any], which: NDArray[Any], depth: int, keys: NDArray[Any]
) -> bool:
    """Write 8 bytes of each text from `depth` on as a number; returns whether any text goes beyond them."""
    more = False
    for j in range(len(which)):
        begin, end = offsets[which[j]] + depth, offsets[which[j] + 1]
        keys[j] = _word(text, begin, end) if begin < end else uint64(0)
        more |= end > begin + 8
    return more


@serial
def common_prefix(text: NDArray[Any], offsets: NDArray[Any]) -> int:
    """Count the bytes that all texts begin with alike."""
    common = offsets[1] - offsets[0]
    for i in range(1, len(offsets) - 1):
        length = min(common, offsets[i + 1] - offsets[i])
        same = 0
        while same < length and text[offsets[i] + same] == text[offsets[0] + same]:
            same += 1
        common = same
    return int(common)


@serial
def take_texts(
    text: NDArray[Any], offsets: NDArray[Any], which: NDArray[Any], out: NDArray[Any], ends: NDArray[Any]
) -> None:
    """Copy the texts that `which` lists to `out`; `ends[j + 1]` becomes the end of the j-th of them."""
    filled = 0
    ends[0] = 0
    for j in range(len(which)):
        for place in range(offsets[which[j]], offsets[which[j] + 1]):
            out[filled] = text[place]
            filled += 1
        ends[j + 1] = filled
