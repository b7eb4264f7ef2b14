"""Charts of every kind and option, and a page of them, made up without running anything."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from gravel.pipeline.report.page import write_run_report
from gravel.pipeline.store.cache import Cache
from gravel.stages.charts import (
    Axis,
    Cells,
    Curves,
    Line,
    Rows,
    RowSeries,
    Rule,
    Span,
    figure,
    map_panel,
    shade_digits,
)
from tests.pipeline.report.sample import record, stage_run

RUN = "20261120-100000-gallery-0001"
LEVELS = tuple(range(12))
SIZES = (1, 8, 90, 1_200, 15_000, 90_000, 61_000, 9_000, 700, 40, 3, 0)
LONG = "bfs[order=reverse_cuthill_mckee,layout=delta_varint_of_blocks,strategy=direction_optimizing]"


def frontier() -> Curves:
    """Lines over levels, logarithmic, with a gap where there is nothing, and levels shaded."""
    return Curves(
        x=Axis(label="level", whole=True),
        y=Axis(label="frontier size", scale="log10"),
        lines=(
            Line(name="vertex frontier", x=LEVELS, y=SIZES, draw="marked"),
            Line(name="edge frontier", x=LEVELS, y=tuple(9 * size for size in SIZES), color=1, dash="dashed"),
            Line(name="logical", x=LEVELS, y=tuple(6 * size for size in SIZES), color="grey", broad=True),
        ),
        spans=(
            Span(first=3.5, last=6.5, name="level searched bottom-up", color=3),
            Span(first=8.5, last=9.5, name="level searched bottom-up", color=3),
        ),
        rules=(Rule(at=1_000, axis="y", name="a thousand", color="ink", dash="dotted"),),
    )


def spread() -> Curves:
    """Steps up to one, with means, of which two searches have the same rate."""
    x = (0.8, 0.8, 0.9, 0.9, 1.3)
    return Curves(
        x=Axis(label="GTEPS"),
        y=Axis(label="share of searches", low=0, high=1),
        lines=(Line(name="bfs", x=x, y=(0, 0.25, 0.5, 0.75, 1), draw="steps"),),
        rules=(Rule(at=0.92, axis="x", name="harmonic mean", color=1, dash="solid"),),
    )


def degrees() -> Curves:
    """Bars that double in width."""
    edges = tuple(2**power for power in range(11))
    counts = (310, 800, 500, 240, 90, 30, 9, 4, 0, 1)
    bars = Line(name="vertices", x=edges[:-1], until=edges[1:], y=counts, draw="bars")
    x, y = Axis(label="degree", scale="log2"), Axis(label="vertices", scale="log10")
    return Curves(x=x, y=y, lines=(bars,))


def stacks() -> list[Curves]:
    """Bars and areas that stand on each other."""
    parts = (("local computation", 0), ("delegate reduction", 1), ("exchange", 2))
    ranks = tuple(2**power for power in range(11))
    bars, areas = [], []
    for name, place in parts:
        heights = tuple((size % 7 + 1) / (place + 1) for size in SIZES)
        bars.append(Line(name=name, x=LEVELS, y=heights, draw="bars", color=place))
        areas.append(
            Line(name=name, x=ranks, y=tuple(rank**0.3 * (place + 1) for rank in ranks), color=place)
        )
    ms, level = Axis(label="ms", low=0), Axis(label="level", whole=True)
    ways = Axis(label="ranks", scale="log2", ticks=ranks[::2])
    return [
        Curves(title="by level", x=level, y=ms, lines=tuple(bars), stacked=True),
        Curves(title="by ranks", x=ways, y=ms, lines=tuple(areas), stacked=True),
    ]


def messages() -> Curves:
    """Bytes along x, a rate of many decades along y, and points alone."""
    sizes = tuple(4**power for power in range(1, 14))
    few = sizes[::3]
    return Curves(
        x=Axis(label="bytes of a message", scale="log2", unit="bytes"),
        y=Axis(label="GB/s", scale="log10"),
        lines=(
            Line(name="peer", x=sizes, y=tuple(min(400, size / 5e3) for size in sizes), draw="marked"),
            Line(name="measured", x=few, y=tuple(size / 2e4 for size in few), draw="points", color=1),
        ),
    )


def losses() -> Curves:
    """From nothing to many, where zero has a place."""
    return Curves(
        x=Axis(label="level", whole=True),
        y=Axis(label="false negatives", scale="symlog"),
        lines=(Line(name="bitmask", x=LEVELS, y=(0, 0, 2, 14, 900, 8_000, 0, 3, 0, 0, 0, 0)),),
    )


def times() -> Rows:
    """Medians with quartiles, words beside them, and a name longer than a phone is wide."""
    return Rows(
        of="run",
        names=("serial", "two_phase", LONG),
        axis=Axis(label="ms a search", scale="log10"),
        series=(
            RowSeries(
                name="median",
                values=(30.0, 4.0, 0.9),
                draw="point",
                low=(28.0, 3.5, 0.8),
                high=(35.0, 5.0, 1.0),
                range_name="quartile",
                colors=(0, 0, 1),
                words=("30 ms", "4 ms, 7.5x", "0.9 ms, 33x"),
            ),
        ),
    )


def bars() -> list[Rows]:
    """Bars below each other on a logarithmic axis, and bars after each other with a mark."""
    names = ("grid", "kron", "road")
    return [
        Rows(
            title="below each other",
            of="graph",
            names=names,
            axis=Axis(label="G stored arcs/s", scale="log10"),
            series=tuple(
                RowSeries(name=f"{ranks} ranks", values=(0.1 * ranks, ranks, None), color=place)
                for place, ranks in enumerate((1, 2, 4))
            ),
        ),
        Rows(
            title="after each other",
            of="run",
            names=names,
            axis=Axis(label="ms", low=0),
            series=(
                RowSeries(name="local", values=(3.0, 5.0, 1.0), color=0),
                RowSeries(name="exchange", values=(1.0, 0.0, 4.0), color=1),
                RowSeries(name="whole search", values=(4.5, 5.1, 5.2), draw="mark", color="ink"),
            ),
            stacked=True,
        ),
    ]


def maps() -> list[Cells]:
    """Heat maps with an empty cell, and with more columns than their names have room for."""
    columns = tuple(f"layout_{place:02}" for place in range(9))
    grid = [[float(10 + row * place) for place in range(9)] for row in range(4)]
    rows = ("original", "degree", "rcm", "community")
    return [
        map_panel("small", [[1.0, 20.0], [3.5, None]], ("a", "b"), ("csr", "varint"), unit="ms"),
        map_panel("wide", grid, rows, columns, unit="ms"),
    ]


def matrix() -> Cells:
    """A picture of 96 by 96 blocks, darkest on the diagonal."""
    near = [[max(0.0, 1 - abs(row - column) / 12) for column in range(96)] for row in range(96)]
    shades = tuple(shade_digits(row).replace("0", " ") for row in near)
    return Cells(title="rcm", shades=shades, extent=1_000_000, facts=(("blocks a side", 96), ("arcs", 9)))


def gallery() -> list[dict[str, Any]]:
    """The sections of all of them."""
    charts: dict[str, list[Any]] = {
        **{"Frontier": [frontier()], "Spread": [spread()], "Degrees": [degrees()], "Stacked": stacks()},
        **{"Messages": [messages()], "False negatives": [losses()], "Times": [times()]},
        **{"Bars": bars(), "Maps": maps(), "Matrix": [matrix()]},
    }
    return [
        figure(name, f"What {name.lower()} shows.", panels, {"of": name}, alt=f"{name} of a made-up run")
        for name, panels in charts.items()
    ]


def write_gallery(folder: Path, sections: list[dict[str, Any]] | None = None) -> Path:
    """Write the page of a run whose report has these sections; returns it."""
    made = {"title": "Gallery", "sections": gallery() if sections is None else sections}
    cache = SimpleNamespace(
        describe=lambda name: SimpleNamespace(kind="Report", attributes=made), look_up=lambda recipe: None
    )
    target = folder / "runs" / RUN
    target.mkdir(parents=True, exist_ok=True)
    runs = [stage_run("report", stage="report", outputs=["report"])]
    return write_run_report(target, record(RUN, runs), cast("Cache", cache))
