"""Distances as unsigned words inside CPU kernels, so that atomics compare them; see `WeightedRows.words`."""

from __future__ import annotations

from typing import Any

import numpy
from numba import types
from numba.core.errors import TypingError

from gravel.kernels.atomics import fetch_min
from gravel.kernels.generated import generated
from gravel.kernels.jit import serial


def _longer(word: Any, weight: Any) -> Any:
    if weight.dtype.kind == "f":
        return (word.view(numpy.float64) + numpy.float64(weight)).view(word.dtype)
    return word + word.dtype.type(weight)


def _joined(one: Any, other: Any, weight: Any) -> Any:
    return _longer(one, other.view(numpy.float64)) if weight.dtype == numpy.float32 else one + other


@generated(_longer)
def lengthened(typing_context: Any, word: Any, weight: Any) -> tuple[Any, Any]:
    """Return the word of a distance and a weight, uint32 or float32, added up."""
    if word not in (types.uint32, types.uint64) or weight not in (types.uint32, types.float32):
        raise TypingError(f"words are uint32 or uint64, weights uint32 or float32; not {word} and {weight}")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        distance, arc = arguments
        if weight is types.float32:
            double = context.get_value_type(types.float64)
            longer = builder.fadd(builder.bitcast(distance, double), builder.fpext(arc, double))
            return builder.bitcast(longer, distance.type)
        return builder.add(distance, arc if word is types.uint32 else builder.zext(arc, distance.type))

    return word(word, weight), generate


@generated(_joined)
def joined(typing_context: Any, one: Any, other: Any, weight: Any) -> tuple[Any, Any]:
    """Return the word of two distances added up; they are of floats where `weight` is a float32."""
    if one is not types.uint64 or other is not types.uint64:
        raise TypingError(f"words that are joined are uint64; not {one} and {other}")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if weight is types.float32:
            double = context.get_value_type(types.float64)
            first, second = (builder.bitcast(word, double) for word in arguments[:2])
            return builder.bitcast(builder.fadd(first, second), arguments[0].type)
        return builder.add(*arguments[:2])

    return types.uint64(one, other, weight), generate


@serial
def lower(words: Any, vertex: int, word: Any, alone: bool) -> Any:
    """Keep the smaller of a vertex's word and `word`; return what it was. `alone` is without atomics."""
    if alone:
        before = words[vertex]
        if word < before:
            words[vertex] = word
        return before
    return fetch_min(words, vertex, word)
