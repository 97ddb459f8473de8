"""The one object that a reader of a service takes: what is registered, and what has been delivered.

Two threads change a service: the registrar's caller and the one that delivers micro-batches. Each publishes
an immutable part; a reader takes the reference to both once and works out its whole answer from that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from threading import RLock

from seine.catalog.tables.stored import QueryPosition
from seine.lifecycle.view import MOST_USERS, RegisteredQuery, View
from seine.runtime.folder.failures import Failure
from seine.runtime.output.totals import exact_share
from seine.service.answers import FailureAnswer, QueryAnswer, RegistrationPosition
from seine.service.figures import DeliveryFigures

Listener = Callable[[], None]


@dataclass(frozen=True)
class PublishedState:
    """A view of what is registered and the figures of what is delivered, both immutable."""

    view: View
    figures: DeliveryFigures

    def query(self, name: str) -> QueryAnswer:
        """A query with what it has delivered."""
        return self._answer(self.view.find(name))

    def queries(self) -> list[QueryAnswer]:
        """Every query with what it has delivered, in the order of registration."""
        return [self._answer(registered) for registered in self.view.registered.values()]

    def largest_states(self) -> dict[str, dict[str, int]]:
        """The queries that hold most, and of which streams."""
        rows = self.figures.state_rows
        names: dict[str, None] = {}
        for node in sorted(rows, key=lambda node: -rows[node]):
            names.update(dict.fromkeys(self.view.users(node)))
            if len(names) >= MOST_USERS:
                break
        states = {name: self._state_rows(self.view.find(name)) for name in names}
        largest = sorted(states, key=lambda name: -sum(states[name].values()))[:MOST_USERS]
        return {name: states[name] for name in largest}

    def _answer(self, registered: RegisteredQuery) -> QueryAnswer:
        name, figures = registered.query.name, self.figures
        limited = self.view.limited_node(registered)
        account = None if limited is None else figures.memory.get(limited)
        failure = self.view.failures.get(name.lower())
        return {
            "query": name,
            "owner": registered.owner,
            "state": self.view.state(registered),
            "failure": None if failure is None else _failed(failure),
            "waits_for": {},
            "since": _answered(registered.position),
            "outputs": figures.outputs.get(name, 0),
            "importance": None if name in figures.cut else figures.importance.get(name),
            "shed": account.shed if account else 0,
            "exact_share": exact_share([account]) if account else None,
            "state_rows": self._state_rows(registered),
            "group_rows": sum(figures.group_rows.get(node, 0) for node in registered.nodes),
            "punctuations": sum(figures.punctuation_rows.get(node, 0) for node in registered.nodes),
            "text": registered.query.text,
        }

    def _state_rows(self, registered: RegisteredQuery) -> dict[str, int]:
        """Rows held for the joins of a query, by the streams that they are of."""
        rows_at, places = self.figures.rows_at, self.view.state_places(registered)
        return {", ".join(streams): sum(map(rows_at, holding)) for streams, holding in places.items()}


def _failed(failure: Failure) -> FailureAnswer:
    return {"entry": failure.entry, "kind": failure.kind, "reason": failure.reason}


def _answered(position: QueryPosition) -> RegistrationPosition:
    return {"entry": position.entry, "results": position.results, "streams": position.streams}


class Publisher:
    """Holds the published state, and wakes those who wait for a newer one.

    Any thread may read `current`. A part is replaced under a lock, so that none of two parts that are
    published at the same time is lost. `end` takes no lock: a signal handler may call it.
    """

    def __init__(self, view: View, figures: DeliveryFigures) -> None:
        self.current = PublishedState(view, figures)
        self.ended = False
        self._lock = RLock()
        self._listeners: tuple[Listener, ...] = ()

    def publish_view(self, view: View) -> None:
        with self._lock:
            self.current = replace(self.current, view=view)
        self._wake()

    def publish_figures(self, figures: DeliveryFigures) -> None:
        with self._lock:
            self.current = replace(self.current, figures=figures)
        self._wake()

    def end(self) -> None:
        """Nothing more will be published by a micro-batch; whoever waits for it need not."""
        self.ended = True
        self._wake()

    def listen(self, listener: Listener) -> Listener:
        """Call `listener` after each publication, on the publishing thread; the result ends that."""
        with self._lock:
            self._listeners = (*self._listeners, listener)

        def unlisten() -> None:
            with self._lock:
                self._listeners = tuple(one for one in self._listeners if one is not listener)

        return unlisten

    def _wake(self) -> None:
        for listener in self._listeners:
            listener()
