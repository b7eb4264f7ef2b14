"""`${name}` keeps types, is written out inside texts, and is escaped with `$${`."""

from __future__ import annotations

from pathlib import Path

import pytest

from gravel.pipeline.core.errors import WorkflowError
from gravel.pipeline.workflow.nodes import MapNode, Text, parse, plain_value, to_text
from gravel.pipeline.workflow.parameters import read_values
from gravel.pipeline.workflow.source import Faults
from gravel.pipeline.workflow.values import Filled, Scope, Values, fill, references


def values_of(text: str, **overrides: str) -> Values:
    source = Text("t", text)
    root, problems = parse(source)
    assert isinstance(root, MapNode)
    assert not problems
    faults = Faults()
    scope = Scope(source, Path("t"), root, faults)
    read_values(scope, overrides, {})
    faults.raise_if_any()
    return scope.values


def parameters(text: str, **overrides: str) -> dict[str, object]:
    return {name: filled.value for name, filled in values_of(text, **overrides).parameters.items()}


def test_a_lone_reference_keeps_the_type() -> None:
    values = {"18": 18, "1.5": 1.5, "true": True, "null": None, "[1, {a: b}]": [1, {"a": "b"}], "'18'": "18"}
    for value, expected in values.items():
        found = parameters(f"parameters:\n  a: {value}\n  b: '${{a}}'\n  c: ${{ a }}\n  d: ['${{b}}']\n")
        assert [repr(found[name]) for name in "bcd"] == [repr(expected), repr(expected), repr([expected])]


def test_inside_a_text_stands_what_was_written() -> None:
    found = parameters("parameters: {a: 010, b: 1e3, c: True, d: ~, e: 'v${a}-${b}-${c}-${d}'}")
    assert found["e"] == "v010-1e3-True-~"
    assert (found["a"], found["b"], found["c"], found["d"]) == (10, 1000.0, True, None)
    found = parameters("parameters: {a: 18, b: true, c: 'x${a}y${b}', d: '${a}${a}', e: '${a} '}")
    assert (found["c"], found["d"], found["e"]) == ("x18ytrue", "1818", "18 ")


def test_the_escape() -> None:
    found = parameters("parameters: {a: 1, b: '$${a}', c: '$${a} ${a} $a $$', d: '$$${a}'}")
    assert found["b"] == "${a}"
    assert found["c"] == "${a} 1 $a $$"
    assert found["d"] == "$${a}"


def test_overrides_are_yaml_values() -> None:
    text = "parameters: {a: 1, b: '${a}'}"
    for given, expected in [("2", 2), ("[x, 3]", ["x", 3]), ("{k: 1}", {"k": 1}), ("", None), ("yes", "yes")]:
        assert parameters(text, a=given)["b"] == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("parameters: {a: '${b}', b: '${c}', c: '${a}'}", "in a circle: a -> b -> c -> a"),
        ("parameters: {a: '${a}'}", "in a circle: a -> a"),
        ("parameters: {a: '${b}'}", "there is no parameter 'b'"),
        ("parameters: {a: '${x}'}\nmatrix: {x: [1]}", "cannot refer to the matrix axis 'x'"),
        ("matrix: {x: [1], y: ['${x}']}", "there is no parameter 'x'"),
        ("parameters: {a: '${}'}", "is no reference"),
        ("parameters: {a: '${b c}'}", "is no reference"),
    ],
)
def test_references_that_lead_nowhere(text: str, message: str) -> None:
    with pytest.raises(WorkflowError) as caught:
        values_of(text)
    assert any(message in problem.message for problem in caught.value.problems)
    assert all(problem.location is not None for problem in caught.value.problems)


def test_matrix_values_may_come_from_parameters() -> None:
    values = values_of("parameters: {a: 3, all: [x, y]}\nmatrix: {n: [1, '${a}'], m: '${all}'}")
    assert [each.value for each in values.varying["n"].table.values()] == [1, 3]
    assert [each.value for each in values.varying["m"].table.values()] == ["x", "y"]


def test_an_axis_may_name_its_values() -> None:
    values = values_of("parameters: {a: 3}\nmatrix: {n: {one: {k: 1}, other: {k: '${a}'}}}")
    assert [each.value for each in values.varying["n"].table.values()] == [{"k": 1}, {"k": 3}]
    assert values.coordinates["n"] == ("one", "other")
    values = values_of("parameters: {more: {x: 1, y: 2}}\nmatrix: {n: {with: '${more}', y: 3, z: 4}}")
    assert values.coordinates["n"] == ("x", "y", "z")
    assert [each.value for each in values.varying["n"].table.values()] == [1, 3, 4]


def test_the_place_of_each_reference() -> None:
    source = Text("t", 'a: "x ${b} ${c}"\nd: ${b}\n')
    root, _ = parse(source)
    assert root is not None
    found = [(each.name, each.location.line, each.location.column) for each in references(root, source)]
    assert found == [("b", 1, 7), ("c", 1, 12), ("b", 2, 4)]
    assert fill(root, {"b": Filled(1), "c": Filled("z")}, source).value == {"a": "x 1 z", "d": 1}


SCALARS = {
    **{"12": 12, "-3": -3, "010": 10, "0o10": 8, "0xff": 255, "1e3": 1000.0, ".5": 0.5, "1.": 1.0},
    **{"yes": "yes", "on": "on", "NULL": None, "~": None, "True": True, "1_000": "1_000", "1:30": "1:30"},
    **{"2026-11-20": "2026-11-20", ".inf": float("inf")},
}


def test_plain_scalars_are_those_of_yaml_1_2() -> None:
    assert {text: repr(plain_value(text)) for text in SCALARS} == {
        text: repr(value) for text, value in SCALARS.items()
    }


def test_values_as_text() -> None:
    assert to_text({"a": [1, None, True], "b": {"c": "x"}}) == "{a: [1, null, true], b: {c: x}}"
