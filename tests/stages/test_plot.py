"""Pictures: small, without marks that nobody reads, the same every time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gravel.stages.sections.plot import draw, draw_panels


def curve(*values: float, both: bool = False) -> Callable[[Any], None]:
    def paint(axes: Any) -> None:
        axes.plot(range(1, len(values) + 1), values, label="curve")
        axes.set_yscale("log")
        if both:
            axes.set_xscale("log", base=2)

    return paint


@pytest.mark.parametrize(
    ("values", "marks"),
    [((1, 10, 100), 3), ((0.5, 30, 2000), 4), ((200, 300, 560), 4), ((90, 110), 2)],
    ids=["powers", "between", "within one decade", "one power"],
)
def test_a_logarithmic_axis_shows_powers_where_there_are_two(values: tuple[float, ...], marks: int) -> None:
    assert draw(curve(*values), alt="a curve").count('id="ytick_') == marks


def test_letters_of_all_marks_are_of_one_size() -> None:
    picture = draw_panels([("low", curve(200, 300, 560)), ("wide", curve(1, 1000))], alt="two curves")
    assert "font-size: 7px" in picture
    assert "font-size: 9px" not in picture


def test_pictures_have_no_ground_and_never_change() -> None:
    pictures = {draw(curve(1, 1000, 10, both=True), alt='what "it" <shows') for _ in range(2)}
    assert len(pictures) == 1
    (picture,) = pictures
    assert picture.startswith('<svg role="img" aria-label="what \'it\' shows" ')
    assert "#ffffff" not in picture
    assert "<metadata" not in picture
