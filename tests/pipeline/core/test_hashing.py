from __future__ import annotations

import enum
import subprocess
import sys
from dataclasses import replace

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gravel.pipeline.core.hashing import digest, make_recipe
from gravel.stages.ingest import STAGE
from gravel.stages.ingest_parameters import IngestParameters
from gravel.stages.stage import Need, Parameters, Slot, Stage

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary()
plain = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4)
)


def tagged(value: object) -> object:
    """A form in which only values that must share a digest are equal."""
    if isinstance(value, list | tuple):
        return ("list", tuple(tagged(item) for item in value))
    if isinstance(value, dict):
        return ("dict", tuple(sorted((key, repr(tagged(item))) for key, item in value.items())))
    return (type(value).__name__, repr(value))


@settings(max_examples=60, deadline=None)
@given(plain, plain)
def test_digests_are_equal_exactly_when_typed_values_are(one, other):
    assert (digest(one) == digest(other)) == (tagged(one) == tagged(other))
    assert digest(one) == digest(one)


CLOSE = [
    *((1, 1.0), (1, True), (0, False), (0, None), (0.0, -0.0), ("1", 1), ("a", b"a"), (["ab"], ["a", "b"])),
    *(([["a"], "b"], [["a", "b"]]), ({"a": 1, "b": 2}, {"a": 2, "b": 1}), ([], {}), ("", [])),
    ({"a": {}}, {"a": []}),
]


@pytest.mark.parametrize(("one", "other"), CLOSE)
def test_close_values_differ(one, other):
    assert digest(one) != digest(other)


def test_order_of_keys_and_kind_of_sequence_do_not_matter():
    assert digest({"a": 1, "b": (2, 3)}) == digest({"b": [2, 3], "a": 1})


class Colour(enum.IntEnum):
    red = 1


@pytest.mark.parametrize(
    "value", [{1, 2}, object(), numpy.float64(1), numpy.int32(1), Colour.red, {1: 2}, 1j, bytearray(b"a")]
)
def test_what_cannot_be_hashed_is_an_error(value):
    with pytest.raises(TypeError):
        digest([value])


class Method(Parameters):
    method: str = "rcm"
    factor: float = 1.0
    chunk: int = 10


def stage(**changes: object) -> Stage:
    inputs = {"input": Slot(("Graph",), "")}
    made = Stage("reorder", 1, "", Method, inputs, ("Ordering",), max, lambda *given: Need(0, 0, ()))
    return replace(made, hidden=frozenset({"chunk"}), **changes)


def test_every_part_of_a_recipe_counts_and_hidden_parameters_do_not():
    inputs, files = {"input": ("id1", "id2")}, {"a.txt": "f1", "b.txt": "f2"}
    base = make_recipe(stage(), Method(), inputs, files, None)
    others = [
        make_recipe(stage(name="renumber"), Method(), inputs, files, None),
        make_recipe(stage(version=2), Method(), inputs, files, None),
        make_recipe(stage(), Method(method="random"), inputs, files, None),
        make_recipe(stage(), Method(factor=2), inputs, files, None),
        make_recipe(stage(), Method(), {"input": ("id2", "id1")}, files, None),
        make_recipe(stage(), Method(), {"other": ("id1", "id2")}, files, None),
        make_recipe(stage(), Method(), inputs, {"a.txt": "f1", "b.txt": "f3"}, None),
        make_recipe(stage(), Method(), inputs, files, "a CPU"),
    ]
    assert len({base.digest, *(other.digest for other in others)}) == 9
    assert make_recipe(stage(), Method(chunk=99), inputs, files, None).digest == base.digest
    assert "chunk" not in base.parts["parameters"]
    moved = make_recipe(stage(), Method(), inputs, {"c.txt": "f1", "d.txt": "f2"}, None)
    assert moved.digest == base.digest
    assert "machine" not in moved.parts
    assert moved.parts["files"] == {"c.txt": "f1", "d.txt": "f2"}


def test_a_digest_is_the_same_in_every_process():
    code = "from gravel.pipeline.core.hashing import digest\n"
    code += "print(digest({'a': [1, 2.5, None, 'x'], 'b': {'c': True}}))"
    for seed in ("1", "2"):
        found = subprocess.check_output([sys.executable, "-c", code], text=True, env={"PYTHONHASHSEED": seed})
        assert found.strip() == digest({"a": [1, 2.5, None, "x"], "b": {"c": True}})


def test_a_recipe_has_no_secret_and_keeps_urls_apart():
    one, two = "https://me:word@host/a?k=1", "https://me:word@host/a?k=2"
    found = make_recipe(STAGE, IngestParameters(file=one), {}, {one: "ab", two: "cd"}, None)
    assert found.parts["files"] == {"https://host/a?k=...": "ab", "https://host/a?k=... (2)": "cd"}
    assert found.contents == {one: "ab", two: "cd"}
