"""The page of strategies lists what the tables have: no name more, none less, each where it belongs."""

from __future__ import annotations

import re

import pytest

from docs.reference_pages import PACKAGES
from gravel.kernels.strategy import Strategy, strategies_in
from gravel.pipeline.core.files import ROOT

PAGE = (ROOT / "docs" / "strategies.md").read_text(encoding="utf-8")


def listed(title: str) -> dict[str, str]:
    """Return the text below each name in a section of the page."""
    section = PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    return dict(re.findall(r"^### (\w+)\n(.*?)(?=^### |\Z)", section, re.M | re.S))


def told(strategy: Strategy) -> list[str]:
    """List what the page has to say of a strategy, beside what it says of all that say nothing else."""
    texts = [strategy.about, *(["CPU"] if strategy.cpu else []), *(["CUDA"] if strategy.cuda else [])]
    if strategy.source != Strategy.source:
        texts.append(f"Source: {strategy.source}")
    if strategy.outputs != Strategy.outputs:
        texts.append(f"; output {', '.join(strategy.outputs)}")
    if strategy.cuda and strategy.placements != Strategy.placements:
        texts.append(f"; placement {', '.join(strategy.placements)}")
    return texts


def test_the_page_says_what_a_strategy_has_that_says_nothing_else() -> None:
    text = PAGE.replace("\n", " ")
    assert f"has the outputs {', '.join(Strategy.outputs)}," in text
    assert f"placements {' and '.join(Strategy.placements)}." in text


@pytest.mark.parametrize("package", PACKAGES)
def test_the_page_lists_the_table(package: str) -> None:
    found, known = listed(PACKAGES[package]), strategies_in(package)
    assert list(found) == list(known)
    for name, strategy in known.items():
        assert [text for text in told(strategy) if text not in found[name]] == []
        assert ("also encoded rows" in found[name]) == strategy.encoded
