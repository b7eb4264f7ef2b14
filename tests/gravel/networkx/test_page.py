"""docs/networkx.md lists the functions that there are and the limits that are in force."""

import re
from pathlib import Path

from gravel.networkx.info import MODULE_OF
from gravel.networkx.limits import CROSSOVER

PAGE = (Path(__file__).parents[3] / "docs" / "networkx.md").read_text(encoding="utf-8")


def test_the_table_lists_every_function_that_gravel_has():
    rows = re.findall(r"^\| [a-z ]+ \| `(\w+)` \| (yes|no) \|", PAGE, re.MULTILINE)
    assert sorted(name for name, has in rows if has == "yes") == sorted(MODULE_OF)
    assert not {name for name, has in rows if has == "no"} & set(MODULE_OF)


def test_the_limits_are_those_in_force():
    stated = [int(each.replace(",", "")) for each in re.findall(r"\| ([\d,]+) nodes \|", PAGE)]
    assert stated == list(CROSSOVER.values())
