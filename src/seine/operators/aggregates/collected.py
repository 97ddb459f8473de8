"""COLLECT_LIST and COLLECT_SET: the values of a group as a JSON array, in the order of their order keys.

Law: the list is that of the live rows, sorted; a set has of equal values the first. A change costs the values
of its group, as the list has all of them.
"""

from __future__ import annotations

import json
from typing import Any

from seine.algebra.aggregates import FoldedAggregate

_NO_NUMBERS = ("NaN", "Infinity", "-Infinity")


class Collected(FoldedAggregate):
    """Collects texts `key|1value`; the state is the list of these.

    >>> lists = Collected("collect_list")
    >>> lists.finish(lists.merge(["b|17"], ["a|19", "c|17"]))
    '[9, 7, 7]'
    >>> Collected("collect_set_of_texts").finish(["a|1x", "b|1x", "c|1y"])
    '["x", "y"]'
    """

    name = "collect_list"

    def __init__(self, function: str) -> None:
        self._quotes = function.endswith("_of_texts")
        self._is_set = function.startswith("collect_set")

    def init(self) -> Any:
        return []

    def add(self, state: Any, *values: Any) -> Any:
        state.append(values[0])
        return state

    def merge(self, one: Any, other: Any) -> Any:
        return one + other

    def finish(self, *state: Any, **parts: Any) -> Any:
        texts = [packed.partition("|")[2][1:] for packed in sorted(state[0])]
        chosen = dict.fromkeys(texts) if self._is_set else texts
        return "[" + ", ".join(map(self._json, chosen)) + "]"

    def _json(self, text: str) -> str:
        return json.dumps(text, ensure_ascii=False) if self._quotes or text in _NO_NUMBERS else text
