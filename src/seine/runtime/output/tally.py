"""How many records each query has delivered and how important they were, as sums of changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct


class TallyChange(Struct, frozen=True, omit_defaults=True):
    """Queries whose counts end, then what is added to the counts of others."""

    gone: tuple[str, ...] = ()
    added: dict[str, int] = {}
    importance: dict[str, float] = {}


class Tally:
    """The counts of queries by name, and what changed since that was last taken.

    Law: changes that are taken and given to another tally, in order, make the same counts.

    >>> tally, other = Tally(), Tally()
    >>> tally.add({"q": 2}), tally.weigh({"q": 0.5}), other.change(tally.take()), other.counts
    (None, None, None, {'q': 2})
    >>> tally.forget(["q"]), tally.add({"q": 7}), other.change(tally.take()), other.counts, other.importance
    (None, None, None, {'q': 7}, {})
    """

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.importance: dict[str, float] = {}
        self._added: dict[str, int] = {}
        self._weighed: dict[str, float] = {}
        self._gone: dict[str, None] = {}

    def add(self, counts: Mapping[str, int]) -> None:
        """These were delivered."""
        for sums in (self.counts, self._added):
            if sums.keys().isdisjoint(counts):
                sums.update(counts)
                continue
            for query, count in counts.items():
                sums[query] = sums.get(query, 0) + count

    def weigh(self, sums: Mapping[str, float]) -> None:
        """The importance of what was added."""
        for weights in (self.importance, self._weighed):
            for query, more in sums.items():
                weights[query] = weights.get(query, 0.0) + more

    def forget(self, queries: Iterable[str]) -> None:
        """The counts of these end; a query of the same name is another one."""
        for query in queries:
            if self.counts.pop(query, None) is not None:
                for part in (self.importance, self._added, self._weighed):
                    part.pop(query, None)
                self._gone[query] = None

    def change(self, change: TallyChange) -> None:
        """What another tally has come to; it is not taken from this one."""
        self.forget(change.gone)
        self.add(change.added)
        self.weigh(change.importance)
        self.take()

    def take(self) -> TallyChange:
        """What has changed since this was last called."""
        change = TallyChange((*self._gone,), self._added, self._weighed)
        self._added, self._weighed, self._gone = {}, {}, {}
        return change

    def take_whole(self) -> TallyChange:
        """All counts, as a change of a tally that has none."""
        self.take()
        return TallyChange((), self.counts, self.importance)
