"""NetworkX knows the backend, and does not warn that it uses the converted graphs that it keeps."""

from importlib.metadata import entry_points

import networkx
import pytest


@pytest.fixture(autouse=True, scope="package")
def _backend():
    if not entry_points(group="networkx.backends", name="gravel"):
        pytest.fail("NetworkX finds no backend of gravel: install it again, `pip install -e '.[test]'`")
    with networkx.config(warnings_to_ignore={"cache"}):
        yield
