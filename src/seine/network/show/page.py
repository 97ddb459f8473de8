"""The frame of the picture: HTML, style and script, which lie in files beside this module.

What is filled in stands between double @ signs: @@STYLE@@ and @@SCRIPT@@ here, the rest when a network is
drawn.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def page_template() -> str:
    """The page, complete but for the network that it shows."""
    template = _read("page.html")
    return template.replace("@@STYLE@@", _read("page.css")).replace("@@SCRIPT@@", _read("page.js"))


def _read(name: str) -> str:
    return files("seine.network.show").joinpath(name).read_text(encoding="utf-8")
