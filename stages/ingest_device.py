"""Memory that ingest takes of a GPU: buffers of pieces of text, and columns of ids."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gravel.kernels.buffers import exact, table
from gravel.kernels.ids.buffers import from_anywhere

if TYPE_CHECKING:
    from gravel.stages.context import Context
    from gravel.stages.parsing.head import Head
    from gravel.stages.readers import DeviceText, Reader
    from gravel.stages.sizes import Machine

LARGEST_PIECE = 32 << 20
"""Bytes of text parsed at once: enough that starting a copy and a kernel does not count."""

LEAST_PIECE = 1 << 20
"""Where the device has no room for so little, the CPU parses."""

HOST_BUFFERS = 4
"""Pieces on the host: two that are read, one that is copied and one that is parsed."""

DEVICE_TEXTS = 2
"""Pieces on the device: one that is copied and one that is parsed."""

LEAST_TEXT = 4 << 20
"""Bytes of a stored file below which the CPU has parsed it before a GPU has begun."""

_WIDE_DIGITS = 10
"""Digits of the ids from which they may not fit 32 bits."""


def piece_bytes(memory: int, stored: int | None) -> int:
    """Return bytes of text in a piece, so that buffers take half of the host memory to work in at most."""
    from gravel.stages.streams.lines import RESERVE

    most = min(LARGEST_PIECE, memory // (2 * (HOST_BUFFERS + 1)) - RESERVE)
    return max(LEAST_PIECE, most if stored is None else min(most, stored))


def text_bytes(piece: int) -> int:
    """Return the bytes of the device that hold pieces of text, and counts of their lines."""
    from gravel.stages.streams.lines import buffer_bytes

    return DEVICE_TEXTS * buffer_bytes(piece) + buffer_bytes(piece) // 256


def device_text(context: Context, reader: Reader, stored: int | None, memory: int) -> DeviceText | None:
    """Take the buffers with which a GPU parses a file of `stored` bytes; None if the CPU is to parse it.

    Where the device has less room than it reports, pieces are smaller, and the log says so.
    """
    if context.machine.backend != "cuda" or not reader.on_device:
        return None
    if stored is not None and stored < LEAST_TEXT:
        context.log(f"{stored:,} bytes are parsed on the CPU: a GPU pays from {LEAST_TEXT:,} on")
        return None
    from gravel.kernels.cuda.room import is_out_of_memory
    from gravel.kernels.text.upload_cuda import TextBuffers
    from gravel.stages.readers import DeviceText
    from gravel.stages.streams.lines import buffer_bytes

    largest = piece = piece_bytes(memory, stored)
    while piece >= LEAST_PIECE:
        # Of the device, text takes a quarter at most.
        if 4 * text_bytes(piece) <= context.machine.device_memory:
            try:
                made = TextBuffers(buffer_bytes(piece), buffers=HOST_BUFFERS, texts=DEVICE_TEXTS)
            except Exception as error:
                if not is_out_of_memory(error):
                    raise
            else:
                smaller = f", smaller ones than {largest:,} for lack of room" if piece < largest else ""
                context.log(f"the GPU parses it in pieces of {piece:,} bytes{smaller}")
                return DeviceText(made)
        piece //= 2
    context.log(f"the CPU parses it: the GPU has no room for pieces of {LEAST_PIECE:,} bytes")
    return None


def device_room(machine: Machine, device: DeviceText) -> int:
    """Return the bytes of the device for edges and the set of their ids."""
    buffer = len(device.text.buffers[0])
    return max(0, machine.device_memory - DEVICE_TEXTS * buffer - buffer // 256)


def device_need(
    machine: Machine,
    reader: Reader,
    head: Head,
    *,
    stored: int | None,
    memory: int,
    edges: int,
    weights: bool,
) -> int:
    """State the bytes of the device: text, edges by file id, and the set of their ids."""
    if machine.backend != "cuda" or not reader.on_device or (stored is not None and stored < LEAST_TEXT):
        return 0
    content = head.content(b"#%c")
    fields = [line.replace(b",", b" ").split() for line in content[:100]]
    wide = any(len(field) >= _WIDE_DIGITS and field.isdigit() for line in fields for field in line)
    weighted = weights and any(len(line) > 2 for line in fields)
    # One of the columns is there once more while its parts are joined; ids from anywhere are sorted before.
    end, weight = ("u8" if wide else "u4", edges), ("f8", edges * weighted)
    once_more = [table(joined=end), table(joined=weight), from_anywhere(edges) if wide else ()]
    columns = table(source=end, target=end, weight=weight, lines=("u1", edges // 4))
    wanted = text_bytes(piece_bytes(memory, stored)) + exact((*columns, *max(once_more, key=exact)))
    return min(wanted, machine.device_memory)
