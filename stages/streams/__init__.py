"""Files and URLs as decompressed bytes, block by block; every failure is a `StageError`."""

from __future__ import annotations

from gravel.stages.streams.lines import LineStream
from gravel.stages.streams.opening import file_size, is_url
from gravel.stages.streams.stream import ByteStream, open_stream

__all__ = ["ByteStream", "LineStream", "file_size", "is_url", "open_stream"]
