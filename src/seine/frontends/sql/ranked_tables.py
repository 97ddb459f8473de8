"""Conditions whose tables are named by rank, so that those that differ in aliases have one text.

Law: a condition means in a scope what its text by rank means where tables have these names. Only names before
a point are renamed, and only if all of them are aliases; texts that quote names are left alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_QUALIFIER = re.compile(
    r"'(?:[^']|'')*'|\.\s*[A-Za-z_]\w*|([A-Za-z_]\w*)\s*\.(?=\s*[A-Za-z_])", re.ASCII
)  # a name behind a point is no alias


def rank_name(rank: int) -> str:
    """The name of the table with this rank among the aliases of a scope in their order."""
    return f"t{rank}"


def by_rank(text: str, ranks: Mapping[str, str]) -> str | None:
    """A condition with tables named by `ranks`, which has the new name of each alias; None if it cannot be
    told what is an alias in it.

    >>> by_rank("b.x = a.x + 1 AND b.y <> 'a.y'", {"a": "t0", "b": "t1"})
    "t1.x = t0.x + 1 AND t1.y <> 'a.y'"
    >>> by_rank("from_json(a.j, 'b STRUCT<c: INT>').b.c = 1", {"a": "t0", "b": "t1"})
    "from_json(t0.j, 'b STRUCT<c: INT>').b.c = 1"
    >>> by_rank("w.start > 5", {"a": "t0"}) is None
    True
    """
    if '"' in text or "`" in text:
        return None
    parts, kept = [], 0
    for match in _QUALIFIER.finditer(text):
        alias = match[1]
        if alias is not None:
            if alias not in ranks:
                return None
            parts += [text[kept : match.start(1)], ranks[alias]]
            kept = match.end(1)
    return "".join([*parts, text[kept:]]) if parts else text
