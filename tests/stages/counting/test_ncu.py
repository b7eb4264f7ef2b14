"""The table that ncu writes: units, values that are missing, and launches that are added up."""

from __future__ import annotations

from pathlib import Path

import pytest

from gravel.stages.counting.ncu import (
    DRAM_READ,
    INSTRUCTIONS,
    L2_HIT_RATE,
    L2_SECTORS,
    METRICS,
    NVLINK_SENT,
    UnreadableTable,
    added,
    read_table,
)

SAMPLE = (Path(__file__).parent / "ncu" / "plain.csv").read_text()


def test_sums_are_summed_and_rates_weigh_by_what_they_are_rates_of() -> None:
    table = read_table(SAMPLE, METRICS)
    assert [name for name, _ in table.launches] == ["expand", "expand", "commit"]
    assert table.passes == 2
    total = added([values for _, values in table.launches])
    assert total[DRAM_READ] == 4000
    assert total[INSTRUCTIONS] == 10010
    assert total[L2_SECTORS] == 400
    # (50 * 100 + 90 * 300) / 400, and the launch without sectors weighs nothing.
    assert total[L2_HIT_RATE] == pytest.approx(80)
    assert total[NVLINK_SENT] is None


def test_a_sum_over_kernels_of_which_one_has_no_value_is_none() -> None:
    whole = dict.fromkeys(METRICS, 2.0)
    assert added([whole, {**whole, DRAM_READ: None}])[DRAM_READ] is None
    assert added([whole, {**whole, L2_HIT_RATE: None}])[L2_HIT_RATE] is None
    assert added([whole, {**whole, L2_SECTORS: None}])[L2_HIT_RATE] is None
    assert added([]) == dict.fromkeys(METRICS)


def test_units_are_those_that_the_second_row_names() -> None:
    scaled = SAMPLE.replace('"byte","byte","ns"', '"Kbyte","Mbyte","us"', 1)
    values = read_table(scaled, METRICS).launches[0][1]
    assert values[DRAM_READ] == 1e6
    assert values["dram__bytes_write.sum"] == 2e8
    assert values["gpu__time_duration.sum"] == 3e6


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "no table"),
        ("==WARNING== No kernels were profiled.\n", "no table"),
        ('"ID","Kernel Name","dram__bytes_read.sum"\n', "no units"),
        (SAMPLE.replace('"4,000"', '"many"'), "'many', and a number was expected"),
        (SAMPLE.replace('"ns"', '"fortnight"'), "in 'fortnight', and known are"),
        (SAMPLE.rpartition('"1","4242"')[0] + '"1","4242"\n', "cells, and its header"),
    ],
)
def test_what_is_no_such_table_is_refused(text: str, fault: str) -> None:
    with pytest.raises(UnreadableTable, match=fault):
        read_table(text, METRICS)


def test_a_metric_that_the_table_lacks_has_no_value() -> None:
    without = SAMPLE.replace(DRAM_READ, "something__else.sum")
    assert read_table(without, METRICS).launches[0][1][DRAM_READ] is None
