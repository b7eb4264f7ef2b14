"""Charts as data: what the model refuses, that JSON brings the same back, thinned curves and shades."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError

from gravel.stages.charts import (
    MAX_POINTS,
    Axis,
    Cells,
    Chart,
    Curves,
    Line,
    Rows,
    RowSeries,
    bands,
    map_panel,
    thinned,
)
from tests.pipeline.report.chart_gallery import gallery


@pytest.mark.parametrize("section", gallery(), ids=lambda section: section["title"])
def test_json_brings_the_same_back(section: dict[str, Any]) -> None:
    text = json.dumps(section["chart"], allow_nan=False)
    chart = Chart.model_validate(json.loads(text))
    assert json.dumps(chart.model_dump(mode="json", exclude_defaults=True)) == text
    assert json.loads(text)["panels"][0]["kind"] in ("curves", "rows", "cells")


@pytest.mark.parametrize(
    "make",
    [
        lambda: Line(name="a", x=(1, 2), y=(1,)),
        lambda: Line(name="a", x=(1,), y=(1,), until=(2, 3)),
        lambda: Line(name="a", x=(1,), y=(float("nan"),)),
        lambda: Line(name="a", x=(1,), y=(float("inf"),)),
        lambda: Line(name="a", x=(1,), y=(1,), color=8),
        lambda: Axis(scale="cubic"),  # type: ignore[arg-type]
        lambda: Curves(lines=(Line(name="a", x=(1,), y=(1,)), Line(name="b", x=(2,), y=(1,))), stacked=True),
        lambda: Rows(names=("a",), series=(RowSeries(name="b", values=(1, 2)),)),
        lambda: Cells(shades=("01", "0")),
        lambda: Cells(shades=("0g",)),
        lambda: Cells(shades=("01",), values=((1.0, 2.0),), rows=("a",), columns=("x",)),
        lambda: Chart(about="", panels=()),
    ],
    ids=range(12),
)
def test_what_is_no_chart_is_refused(make: Any) -> None:
    with pytest.raises(ValidationError):
        make()


def test_curves_keep_no_more_points_than_can_be_told_apart() -> None:
    assert thinned([3.0, 4.0]) == ([0, 1], [3.0, 4.0])
    places, values = thinned(list(range(100_000)))
    assert len(places) <= MAX_POINTS
    assert places == values
    assert bands([1, 2, 3, 7], 10) == [(1, 3), (7, 7)]
    assert len(bands(list(range(0, 100_000, 3)), 100_000)) == 1


def test_shades_are_by_logarithm_where_values_are_far_apart() -> None:
    near = map_panel("", [[1.0, 2.0], [3.0, None]], ("a", "b"), ("x", "y"))
    assert near.shades == ("08", "f ")
    assert near.framed == ((0, 0),)
    far = map_panel("", [[1.0, 10.0, 100.0]], ("a",), ("x", "y", "z"))
    assert far.shades == ("08f",)
    apart = map_panel("", [[1.0, 2.0, 50.0, 60.0]], ("a",), tuple("wxyz"), like=[["g", "g", "h", "h"]])
    assert apart.shades == ("0f0f",)
    assert apart.framed == ((0, 0), (0, 2))
