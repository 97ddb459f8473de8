"""The tables that a search is over, as a text that is a row of a table: very many searches have the same.

    SEARCH 'a b' OVER (movie, plays)     ["movie", "plays"]      these, whatever comes later
    SEARCH 'a b'                                                 all tables, also later ones
    SEARCH 'a b'  (news: no window)      +["news"]               all, and of streams without a window this one

Streams without a window are named, since later ones do not enter: what a search keeps of them could grow for
ever, and when the search came nobody was asked.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

_FOLLOWING = "+"  # before the names of streams without a window


@dataclass(frozen=True)
class TableScope:
    """The tables of OVER, or all tables; in the latter case `names` are streams without a window."""

    names: frozenset[str]
    follows_schema: bool

    @staticmethod
    def over(names: Iterable[str]) -> TableScope:
        """The scope of OVER."""
        return TableScope(frozenset(names), follows_schema=False)

    @staticmethod
    def everything(lasting: Iterable[str] = ()) -> TableScope:
        """The scope without OVER; `lasting` are the streams without a window that there are."""
        return TableScope(frozenset(lasting), follows_schema=True)

    @staticmethod
    def of(text: str) -> TableScope:
        """The scope of a text.

        >>> TableScope.of("") == TableScope.everything()
        True
        """
        names = text.removeprefix(_FOLLOWING)
        return TableScope(frozenset(json.loads(names) if names else ()), names == "" or names != text)

    @property
    def text(self) -> str:
        """The scope as text, by which scopes are told apart.

        >>> TableScope.over(["plays", "movie"]).text
        '["movie", "plays"]'
        """
        names = json.dumps(sorted(self.names), ensure_ascii=False)
        if not self.follows_schema:
            return names
        return f"{_FOLLOWING}{names}" if self.names else ""

    def takes(self, name: str, *, lasting: bool) -> bool:
        """Whether a table is searched; `lasting` says that it is a stream without a window."""
        return name in self.names or (self.follows_schema and not lasting)
