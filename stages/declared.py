"""What files of a folder declare under one name: adding such a file is all that it takes."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any


def declared(room: str, name: str) -> Iterator[Any]:
    """Import each module below a folder of this package; yield what it declares under a name.

    They come by the names of the modules. A folder that is not there has none.
    """
    try:
        package = importlib.import_module(f"gravel.stages.{room}")
    except ModuleNotFoundError as error:
        if error.name != f"gravel.stages.{room}":
            raise
        return
    modules = pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    for module in sorted(each.name for each in modules):
        value = getattr(importlib.import_module(module), name, None)
        if value is not None:
            yield value
