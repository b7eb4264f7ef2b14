"""Descriptions are read from the texts below fields, when somebody asks for them."""

from __future__ import annotations

from gravel.stages.stage import Parameters, all_stages, documented


class Inner(Parameters):
    """An inner model."""

    depth: int = 1
    """How deep."""


class Outer(Inner):
    """An outer model, whose first field lies in its base."""

    inner: Inner | tuple[Inner, ...] = Inner()
    """What is inside,
    on two lines."""
    silent: int = 0


def test_texts_become_descriptions_here_in_bases_and_inside() -> None:
    assert Outer.model_fields["depth"].description is None
    fields = documented(Outer).model_fields
    assert fields["depth"].description == "How deep."
    assert fields["inner"].description == "What is inside,\non two lines."
    assert fields["silent"].description is None
    assert Inner.model_fields["depth"].description == "How deep."
    schema = Outer.model_json_schema()
    assert schema["properties"]["depth"]["description"] == "How deep."
    assert schema["$defs"]["Inner"]["properties"]["depth"]["description"] == "How deep."
    assert Outer(depth=2).inner == Inner()


def test_a_class_without_source_has_none() -> None:
    space: dict[str, object] = {"Parameters": Parameters, "__name__": "nowhere"}
    exec('class Made(Parameters):\n    depth: int = 1\n    """How deep."""\n', space)
    made = space["Made"]
    assert isinstance(made, type)
    assert issubclass(made, Parameters)
    assert documented(made).model_fields["depth"].description is None


def test_every_parameter_of_every_stage_has_one() -> None:
    for stage in all_stages().values():
        for name, field in documented(stage.parameters).model_fields.items():
            assert field.description, f"{stage.name}.{name}"
