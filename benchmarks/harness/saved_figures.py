"""A cache of measurements in a JSON file, so that a benchmark can be resumed."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

from seine.errors import SeineError

Figure = dict[str, Any]


class Figures:
    """Measured figures by key; saved to a file, if one is given, after each measurement."""

    def __init__(self, path: str | None = None) -> None:
        self._path = path
        self._known: dict[str, Figure] = _read(path) if path and os.path.exists(path) else {}

    def take(self, key: str, measure: Callable[[], Figure]) -> Figure:
        """The figure of a key; measured only if it is not known yet.

        >>> figures = Figures()
        >>> figures.take("a", lambda: {"n": 1}), figures.take("a", lambda: {"n": 2})
        ({'n': 1}, {'n': 1})
        """
        if key not in self._known:
            self.keep(key, measure())
        return self._known[key]

    def __contains__(self, key: str) -> bool:
        return key in self._known

    def __getitem__(self, key: str) -> Figure:
        return self._known[key]

    def keep(self, key: str, figure: Figure) -> None:
        """Keep a figure that was measured."""
        self._known[key] = figure
        self._write()

    def _write(self) -> None:
        if self._path:
            with open(f"{self._path}.new", "w", encoding="utf-8") as file:
                json.dump(self._known, file, indent=1, sort_keys=True)
            os.replace(f"{self._path}.new", self._path)


def _read(path: str) -> dict[str, Figure]:
    try:
        with open(path, encoding="utf-8") as file:
            known = json.load(file)
    except (OSError, ValueError) as error:
        raise SeineError(f"cannot read the figures in '{path}'", hint="name another file") from error
    if not isinstance(known, dict):
        raise SeineError(f"'{path}' holds no figures", hint="name another file")
    return known
