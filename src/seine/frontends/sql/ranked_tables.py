"""Conditions whose tables are named by rank, so that those that differ in aliases have one text.

Law: a condition means in a scope what its text by rank means where tables have these names. Only names before
points are renamed, and only if all of them are aliases; texts that quote names are left alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from seine.frontends.text.names import fold

_NAMES_BEHIND = r"(?:\s*\.\s*[A-Za-z_]\w*)+"  # points, which are no aliases
_QUALIFIER = re.compile(rf"'(?:[^']|'')*'|(?<!\w)([A-Za-z_]\w*){_NAMES_BEHIND}|{_NAMES_BEHIND}", re.ASCII)


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
    >>> by_rank("A.w.b > 5", {"a": "t0", "w": "t1", "A": "t2"})
    't0.w.b > 5'
    >>> by_rank("w.start > 5", {"a": "t0"}) is None
    True
    """
    if '"' in text or "`" in text:
        return None
    parts, kept = [], 0
    for match in _QUALIFIER.finditer(text):
        if match[1] is not None:
            alias = fold(match[1], quoted=False)
            if alias not in ranks:
                return None
            parts += [text[kept : match.start(1)], ranks[alias]]
            kept = match.end(1)
    return "".join([*parts, text[kept:]]) if parts else text
