"""gravel docs: pages in the terminal."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from gravel.pipeline.cli import docs, main
from gravel.pipeline.core.errors import RequestError


def test_without_a_page_all_are_listed() -> None:
    lines = CliRunner().invoke(main, ["docs"]).output.splitlines()
    listed = {line.split()[0]: line.split(maxsplit=1)[1] for line in lines}
    assert listed["cache"] == "How the cache decides"
    assert listed["stages"] == "Stages"
    assert listed["stages/traverse"] == "traverse"
    assert all(listed.values())


@pytest.mark.parametrize("name", ["cache", "CACHE", "cache.md", "docs/cache.md"])
def test_a_page_is_printed_as_it_is(name: str) -> None:
    shown = CliRunner().invoke(main, ["docs", name])
    assert shown.exit_code == 0
    assert shown.output == docs.pages()["cache"].read_text(encoding="utf-8")


def test_an_unknown_page_is_refused_with_the_nearest() -> None:
    with pytest.raises(RequestError, match="there is no page 'cach'") as caught:
        CliRunner().invoke(main, ["docs", "cach"], standalone_mode=False, catch_exceptions=False)
    assert "did you mean 'cache'?" in str(caught.value.problems[0].hint)


def test_a_copy_without_pages_says_so(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(docs, "FOLDER", tmp_path)
    with pytest.raises(RequestError, match="no pages"):
        docs.pages()
