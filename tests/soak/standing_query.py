"""A query of the soak: how far its records were read and compared, and what was wrong with them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from tests.reference.compare import canonical, difference
from tests.soak.query_kinds import QueryKind
from tests.soak.reading import Record, read_records
from tests.soak.truth import Truth


class StandingQuery:
    """A query that was registered, from its birth on.

    Of a plain query the records that begin in [checked, high) are compared; of a changelog the net of all
    records up to an instant.
    """

    def __init__(self, name: str, kind: QueryKind, births: dict[str, int], position: str) -> None:
        self.name, self.kind = name, kind
        self.births, self.position = births, position
        self.checked = -1
        self.compared = 0
        self._ignored_before = -1  # of a query whose name another had before it
        self.listener: list[Record] | None = None  # is given what is read
        self._pending: list[Record] = []
        self._net: Counter[str] = Counter()

    @property
    def script(self) -> str:
        return f"CREATE QUERY {self.name} {self.kind.text};"

    def read(self, state: Path) -> None:
        """Read all that there is behind what was read before."""
        while True:
            records, following = read_records(state, self.name, self.position)
            if self.listener is not None:
                self.listener += records
            self._pending += [one for one in records if self.kind.instant(one) >= self._ignored_before]
            if following == self.position:
                return
            self.position = following

    def begin_at(self, instant: int) -> None:
        """Compare what begins at an instant or later: before it, another query had this name."""
        self.checked = self._ignored_before = instant

    def compare(self, truth: Truth, high: int) -> list[str]:
        """What is wrong with the records before an instant that is complete; they are then forgotten."""
        if high <= self.checked:
            return []
        due = [one for one in self._pending if self.kind.instant(one) < high]
        self._pending = [one for one in self._pending if self.kind.instant(one) >= high]
        missing, extra = (
            self._net_difference(truth, due, high - 1)
            if self.kind.is_changelog
            else (self._plain_difference(truth, due, high))
        )
        low, self.checked = self.checked, high
        if not missing and not extra:
            return []
        return [
            f"{self.name} ({self.kind.kind}: {self.kind.text}; births {self.births}) in [{low}, {high}): "
            f"{len(missing)} missing {missing[:3]}, {len(extra)} too much {extra[:3]}"
        ]

    def _plain_difference(self, truth: Truth, due: list[Record], high: int) -> tuple[list[Any], list[Any]]:
        assert self.kind.plain is not None
        expected = truth.ask(self.kind.plain(self.births, self.checked, high))
        self.compared += len(expected)
        return difference([("+", one) for one in expected], [(one["op"], self._flat(one)) for one in due])

    def _flat(self, record: Record) -> dict[str, Any]:
        lives = {"t_start": record["t_start"], "t_end": record["t_end"]} if self.kind.lives else {}
        return {**lives, **record["row"]}

    def _net_difference(self, truth: Truth, due: list[Record], at: int) -> tuple[list[Any], list[Any]]:
        assert self.kind.net is not None
        for record in due:
            self._net[canonical(record["row"])] += 1 if record["op"] == "+" else -1
        self._net = Counter({row: count for row, count in self._net.items() if count})
        expected = Counter(canonical(row) for row in truth.ask(self.kind.net(self.births, at)))
        self.compared += len(due) + expected.total()
        missing, extra = Counter(expected), Counter(self._net)
        missing.subtract(self._net)
        extra.subtract(expected)
        return [*(+missing).items()], [*(+extra).items()]
