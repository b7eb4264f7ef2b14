"""A real browser without a window, and what tests ask it about a page."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
BROWSER = next((found for name in NAMES if (found := shutil.which(name))), None)

needs_browser = pytest.mark.skipif(
    BROWSER is None, reason="no chromium or chrome on PATH, so that no page can be opened"
)

DARK, LIGHT = 0, 1
"""Values of Blink's preferredColorScheme."""

LOOK = """
addEventListener("load", () => {
  const pictures = [];
  for (const svg of document.querySelectorAll("figure svg")) {
    const frame = svg.getBoundingClientRect();
    const within = box => box.left >= frame.left - 2 && box.right <= frame.right + 2
      && box.top >= frame.top - 2 && box.bottom <= frame.bottom + 2;
    let drawn = 0, images = 0, smallest = 99;
    const outside = [];
    for (const each of svg.querySelectorAll("path, rect, use, image, text")) {
      const box = each.getBoundingClientRect();
      if (each.closest("defs") || box.width + box.height === 0) continue;
      drawn += 1;
      if (each.localName === "text") {
        if (!within(box)) outside.push(each.textContent);
        smallest = Math.min(smallest, box.height);
      }
      images += each.localName === "image";
    }
    pictures.push({title: svg.closest("section")?.querySelector("h3")?.textContent
        ?? svg.closest("details")?.querySelector("h3").textContent ?? "workflow",
      left: frame.left + scrollX, top: frame.top + scrollY, width: frame.width, height: frame.height,
      drawn, images, smallest, outside});
  }
  const charts = [...document.querySelectorAll("figure.chart")].map(figure => {
    const frame = figure.querySelector(".panels").getBoundingClientRect();
    const canvases = [...figure.querySelectorAll("canvas")];
    return {title: figure.dataset.title, panels: canvases.length, left: frame.left + scrollX,
      top: frame.top + scrollY, width: frame.width, height: frame.height,
      right: Math.max(...canvases.map(each => each.getBoundingClientRect().right))};
  });
  const told = {pictures, charts, wide: document.documentElement.scrollWidth, window: innerWidth,
    height: document.documentElement.scrollHeight, paper: getComputedStyle(document.body).backgroundColor,
    broken: [...document.querySelectorAll("a[href^='#']")].filter(
      link => !document.getElementById(decodeURIComponent(link.hash.slice(1)))).map(link => link.hash)};
  parent.postMessage(JSON.stringify(told), "*");
});
"""

FRAME = """<!doctype html><style>:root {{ color-scheme: light dark }}</style>
<script>addEventListener("message", event => {{
  const note = document.createElement("pre");
  note.id = "looked";
  note.textContent = event.data;
  document.body.append(note);
}});</script><iframe src="looked.html" style="border: 0" width="{width}" height="900"></iframe>"""
"""A frame of the width of a phone: a window without a screen has at least 500 pixels."""


def browse(address: str, profile: Path, *options: str) -> str:
    """Open an address and return what the browser prints."""
    return _opened(address, profile, "--hide-scrollbars", *options).stdout


def console(address: str, profile: Path) -> tuple[str, list[str]]:
    """Open a page; returns its elements and what the browser's console says."""
    options = ("--enable-logging=stderr", "--virtual-time-budget=5000", "--dump-dom")
    done = _opened(address, profile, *options)
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def _opened(address: str, profile: Path, *options: str) -> subprocess.CompletedProcess[str]:
    assert BROWSER is not None
    plain = (
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
    )
    words = [BROWSER, *plain, f"--user-data-dir={profile}", *options, address]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done


def unfolded(text: str) -> str:
    """Open all that a page folds."""
    return text.replace("<details ", "<details open ")


def look(page: Path, profile: Path, width: int, scheme: int, *, unfold: bool = False) -> dict[str, Any]:
    """Open a copy of a page, all unfolded or as it is, that measures its own pictures."""
    return ask(page, profile, LOOK, width, scheme, unfold=unfold)


def ask(
    page: Path, profile: Path, script: str, width: int, scheme: int, *, unfold: bool = False
) -> dict[str, Any]:
    """Open a copy of a page that runs a script besides; returns what that posts to its parent."""
    copy = page.with_name("looked.html")
    # Its policy, which other tests hold, would not let it.
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page.read_text())
    text = unfolded(text) if unfold else text
    copy.write_text(text.replace("</body>", f"<script>{script}</script></body>"))
    frame = page.with_name("frame.html")
    frame.write_text(FRAME.format(width=width))
    # The budget is that of timers alone: on a busy machine it may end before the frame has loaded.
    for budget in (5_000, 50_000, 500_000):
        text = browse(
            frame.as_uri(),
            profile,
            "--dump-dom",
            f"--virtual-time-budget={budget}",
            f"--window-size={width + 100},1000",
            f"--blink-settings=preferredColorScheme={scheme}",
        )
        found = re.search(r'<pre id="looked">(.*?)</pre>', text, re.DOTALL)
        if found is not None:
            break
    assert found is not None, text[-2000:]
    told: dict[str, Any] = json.loads(html.unescape(found[1]))
    return told


def photograph(page: Path, profile: Path, width: int, height: int, scheme: int) -> Any:
    """Return the page's picture, (height, width, 3) uint8."""
    import numpy
    from PIL import Image

    target = page.with_suffix(".png")
    browse(
        page.as_uri(),
        profile,
        f"--screenshot={target}",
        f"--window-size={width},{height}",
        f"--blink-settings=preferredColorScheme={scheme}",
    )
    with Image.open(target) as image:
        return numpy.asarray(image.convert("RGB"))
