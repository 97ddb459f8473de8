"""Incremental safety checks of a query with sets of added schemes and windows, for the search of cures.

Of a plain join of streams the punctuation graph is built once, with every scheme that could be added, and a
set of additions says which of its closers count. Of any other plan schemes are asked by judging it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from seine.algebra.definitions import Scheme, StreamDef
from seine.algebra.plan import Scan
from seine.algebra.plan_text import interval_text
from seine.safety.graph.punctuation_graph import PUNCTUATION, Graph

Chosen = frozenset[int]  # additions, by number


@dataclass(frozen=True)
class SchemeAddition:
    """To the declaration of a stream: a scheme on `columns`, or a window if there are none.

    If it `reuses` one, the scheme with a lifespan there is becomes one whose values begin anew after it.
    """

    stream: StreamDef
    columns: tuple[int, ...] = ()
    reuses: Scheme | None = None

    def reusing(self) -> SchemeAddition:
        """Instead of a lapsing scheme that lasts, one with REUSED AFTER; the same where that cannot be."""
        lapsing = [scheme for scheme in self._lapsing if scheme.timeout is None]
        fits = not self.stream.retractable and not any(scheme.reused for scheme in self.stream.schemes)
        return replace(self, reuses=lapsing[0]) if lapsing and fits else self

    @property
    def _lapsing(self) -> list[Scheme]:
        schemes = self.stream.schemes if self.columns else ()
        return [one for one in schemes if one.columns == self.columns and one.lifespan is not None]

    def applied(self, stream: StreamDef) -> StreamDef:
        if stream.name != self.stream.name:
            return stream
        if not self.columns:
            return replace(stream, window=1)
        if self.reuses is not None:
            schemes = (replace(one, reused=True) if one == self.reuses else one for one in stream.schemes)
            return replace(stream, schemes=tuple(schemes))
        return replace(stream, schemes=(*stream.schemes, Scheme(self.columns)))

    def __str__(self) -> str:
        if not self.columns:
            return f"a WINDOW on {self.stream.name}"
        names = ", ".join(self.stream.fields[column].name for column in self.columns)
        if self.reuses is not None:
            return f"{self.stream.name} PUNCTUATED ON ({names}) REUSED AFTER {self._lifespan(self.reuses)}"
        lapsing = [scheme for scheme in self.stream.schemes if scheme.columns == self.columns]
        clause = "REUSED AFTER" if any(scheme.reused for scheme in lapsing) else "LIFESPAN"
        return f"{self.stream.name} PUNCTUATED ON ({names}){f' without {clause}' if lapsing else ''}"

    def _lifespan(self, scheme: Scheme) -> str:
        assert scheme.lifespan is not None
        return interval_text(scheme.lifespan) if self.stream.domain == "timestamp" else str(scheme.lifespan)


class PlanCheck:
    """A plan that is judged with every set of additions; more of them must never free less."""

    def __init__(
        self, additions: Sequence[SchemeAddition], heals: Callable[[Iterable[SchemeAddition]], bool]
    ) -> None:
        self.additions = additions
        self._heals = heals

    def heals(self, chosen: Chosen) -> bool:
        return self._heals([self.additions[number] for number in sorted(chosen)])

    def cut(self, chosen: Chosen) -> Chosen:
        """Additions of which it takes one: with all others, those chosen among them, it does not heal."""
        rest = [number for number in range(len(self.additions)) if number not in chosen]
        return frozenset(range(len(self.additions))) - self._grown(chosen, rest)

    def _grown(self, chosen: Chosen, rest: Sequence[int]) -> Chosen:
        """With as many more of the rest as do not heal, found by halves."""
        if not rest or not self.heals(chosen.union(rest)):
            return chosen.union(rest)
        if len(rest) == 1:
            return chosen
        half = len(rest) // 2
        return self._grown(self._grown(chosen, rest[:half]), rest[half:])


class JoinCheck:
    """A join of streams that only append, with the schemes and windows that could be added to it."""

    def __init__(self, scans: Sequence[Scan], graph: Graph, additions: Sequence[SchemeAddition]) -> None:
        """The graph is that of a block of these scans, with all schemes of the additions."""
        self.additions = additions
        self._items = graph.items
        self._given = list(graph.given)
        numbers = {(one.stream.name, one.columns): number for number, one in enumerate(additions)}
        self._windows = [numbers.get((scan.stream.name, ())) for scan in scans]
        self._heads: list[_Head] = []
        for place, (scan, item) in enumerate(zip(scans, graph.items, strict=True)):
            for closer in item.closers:
                is_addition = closer.kind == PUNCTUATION and not closer.reused
                scheme = (scan.stream.name, closer.columns) if is_addition else ("", ())
                self._heads.append(_Head(closer.needs, place, True, numbers.get(scheme)))
        self._heads += [_Head(rule.needs, rule.gives, False, None) for rule in graph.rules]
        self._waiting: list[list[int]] = [[] for _ in range(graph.facts)]
        for number, head in enumerate(self._heads):
            for fact in head.needs:
                self._waiting[fact].append(number)
        self._missing = [len(head.needs) for head in self._heads]

    def heals(self, chosen: Chosen) -> bool:
        return self._unfinished(chosen) is None

    def cut(self, chosen: Chosen) -> Chosen:
        """Additions of which it takes one, lest some item that is not finished stays so.

        For a row of the item what is closed is K. Only a scheme all of whose columns K knows, of an item
        outside of it, or a window of an item in it can change that. A way into another dead end is left out.
        """
        start = self._unfinished(chosen)
        assert start is not None
        live: set[int] = set()
        while True:
            ways = self._closed(chosen, start)[1]
            dead = next((n for n in sorted(ways - live) if not self._finishes(chosen | {n}, start)), None)
            if dead is None:
                return ways
            live |= {number for number in ways if number < dead}
            chosen |= {dead}

    def _unfinished(self, chosen: Chosen) -> int | None:
        """The first item whose rows nothing finishes."""
        items = range(len(self._items))
        return next((item for item in items if not self._finishes(chosen, item)), None)

    def _finishes(self, chosen: Chosen, start: int) -> bool:
        closed = self._closed(chosen, start)[0]
        if len(closed) == len(self._items):
            return True
        return any(self._items[item].expires or self._windows[item] in chosen for item in closed)

    def _closed(self, chosen: Chosen, start: int) -> tuple[set[int], Chosen]:
        """What is closed for a row of an item, as in closure, and the additions that would change that."""
        closed, known, missing = {start}, set[int](), self._missing.copy()
        new_facts = [*self._given, *self._items[start].gives]
        ready = [number for number, count in enumerate(missing) if not count]
        waiting: list[_Head] = []
        while ready or new_facts:
            for head in map(self._heads.__getitem__, ready):
                if not head.closes:
                    new_facts.append(head.gives)
                elif head.addition is not None and head.addition not in chosen:
                    waiting.append(head)
                elif head.gives not in closed:
                    closed.add(head.gives)
                    new_facts += self._items[head.gives].gives
            ready = self._satisfied(new_facts.pop(), known, missing) if new_facts else []
        ways = {head.addition for head in waiting if head.gives not in closed}
        ways |= {self._windows[item] for item in closed}
        return closed, frozenset(number for number in ways if number is not None)

    def _satisfied(self, fact: int, known: set[int], missing: list[int]) -> list[int]:
        """The heads that miss nothing any more now that a fact is known."""
        if fact in known:
            return []
        known.add(fact)
        ready = []
        for number in self._waiting[fact]:
            missing[number] -= 1
            if not missing[number]:
                ready.append(number)
        return ready


class _Head(NamedTuple):
    """What facts lead to: an item that they close, perhaps only with an addition, or another fact."""

    needs: frozenset[int]
    gives: int
    closes: bool
    addition: int | None
