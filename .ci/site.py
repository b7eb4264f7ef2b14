"""Part of the site's build: the word after a fence's language names a file, or is for the tests only."""

import re
from typing import Any

_FENCE = re.compile(r"^```(\w+) (\S+)$", re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Turn names of files into titles of their blocks, and drop marks such as `gpu`."""
    return _FENCE.sub(
        lambda found: f"```{found[1]}" + (f' title="{found[2]}"' if "." in found[2] else ""), markdown
    )
