"""What a command does before it imports anything heavy."""

import gc
import os
from collections.abc import Iterator

import pytest

from gravel.pipeline.cli.startup import ALLOCATIONS, start_quickly


@pytest.fixture(autouse=True)
def _collector() -> Iterator[None]:
    threshold = gc.get_threshold()
    yield
    gc.set_threshold(*threshold)


def test_garbage_is_collected_rarely_and_still_collected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYDANTIC_DISABLE_PLUGINS", raising=False)
    start_quickly()
    assert gc.isenabled()
    assert gc.get_threshold()[0] == ALLOCATIONS
    assert os.environ["PYDANTIC_DISABLE_PLUGINS"] == "__all__"


def test_a_setting_of_the_user_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYDANTIC_DISABLE_PLUGINS", "some-plugin")
    start_quickly()
    assert os.environ["PYDANTIC_DISABLE_PLUGINS"] == "some-plugin"
