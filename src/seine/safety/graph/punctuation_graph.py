"""The punctuation graph of a block: facts about combinations, what follows from them, and what they close.

A *fact* is something known of every combination that a given row can still be part of: that the
values of a class of equal columns are finitely many, or that they are bounded above. An *item* is
what rows come from; it is *closed* for the row when no further row of it can join. Three kinds of rules
connect them, and everything the check decides is reachability along them:

    a closed item gives facts       its rows are finitely many, so the values of its columns are
    facts imply facts               by conditions such as b.ts <= a.ts + 20
    facts close an item             a punctuation for each known value has come, or the watermark passed

A closer that needs one fact is an edge of the punctuation graph, one that needs several is a
generalised edge. Between the streams the classes of equal columns stand as nodes of their own: so
equalities are closed without writing out every pair, and the graph is as large as the query.

Cites: SAFETY 4.1 (Def 7), SAFETY 4.2 (Def 8)
Differs: SAFETY takes the equalities as written; here those that follow from them count too.
"""

from __future__ import annotations

from dataclasses import dataclass

PUNCTUATION, CLOCK = "punctuation", "clock"


@dataclass(frozen=True)
class Closer:
    """A way to close an item: all facts of `needs` must be there.

    `kind` is PUNCTUATION (of the item's `columns`, a scheme) or CLOCK (the watermark of the item). A
    punctuation of values that are `reused` closes the item for rows from before it ends, and is needed no
    longer than such rows may come.
    """

    needs: frozenset[int]
    kind: str
    columns: tuple[int, ...]
    reused: bool = False


@dataclass(frozen=True)
class ClosureRule:
    """Facts that imply a fact."""

    needs: frozenset[int]
    gives: int


@dataclass(frozen=True)
class GraphItem:
    """What rows come from: its name, the facts its rows give, what closes it, how long rows stay.

    `expires`: a window ends the life of each row. `deletable`: a row may be deleted at any time, so
    it is held until it expires.
    """

    name: str
    gives: frozenset[int]
    closers: tuple[Closer, ...] = ()
    expires: bool = False
    deletable: bool = False


@dataclass(frozen=True)
class Graph:
    """Items, how many facts there are, rules between them, and what is given: facts about relations."""

    items: tuple[GraphItem, ...]
    facts: int
    rules: tuple[ClosureRule, ...] = ()
    given: frozenset[int] = frozenset()
