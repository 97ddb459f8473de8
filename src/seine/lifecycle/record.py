"""What makes a change true, and who may make one: where a run and a service differ."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from seine.algebra.definitions import SinkDef, StreamDef
from seine.algebra.plan import Query
from seine.frontends.script.script import Declarations, Script
from seine.lifecycle.change_inputs import RelationsInUse
from seine.lifecycle.edit import Asker, Edit, Outcome, RegisteredScript
from seine.lifecycle.view import View
from seine.network.network import AddedQuery, Network

if TYPE_CHECKING:
    from seine.catalog.index import Placement


class Standing(NamedTuple):
    """What is registered when a process begins, the network that runs it, and the relations in use."""

    view: View
    network: Network
    relations: RelationsInUse


@dataclass(frozen=True)
class RecordedChange:
    """A change that is about to be true: what asks for it, what was before and will be, what it does."""

    edit: Edit
    before: View
    after: View
    outcome: Outcome


class Record(Protocol):
    """What is registered, so that it outlives the process.

    Law: each of these is one step, after which a change is true, or has not been at all.
    """

    def describe(self, query: Query, added: AddedQuery) -> list[Placement]:
        """What a query computes, as far as this keeps it."""

    def enter(self, change: RecordedChange) -> None: ...

    def enter_moves(self, after: View, moved: Iterable[str]) -> None:
        """Queries, by key, go on with the groups of other births."""

    def save_version(self, version: int) -> None:
        """The network is another version, in which nothing but relations has changed."""


class Policy(Protocol):
    """What may be registered, and by whom."""

    @property
    def local(self) -> Asker:
        """Who asks, if nobody says so."""

    def read(self, script: RegisteredScript, file: str, known: Declarations) -> Script:
        """A script for what is declared already; refuses what it may not speak of."""

    def refuse(self, edit: Edit, view: View, by: Asker) -> None:
        """Refuse an edit before anything is opened for it."""

    def refuse_stream(self, stream: StreamDef) -> None:
        """Refuse a stream that cannot be read, or is what we write."""

    def refuse_sink(self, sink: SinkDef, declared: Declarations) -> None:
        """Refuse a sink that could never deliver, or would deliver to what we read or keep."""

    def refuse_network(self, edit: Edit, view: View, network: Network) -> None:
        """Refuse an edit for what it makes of the network, which has undergone it."""
