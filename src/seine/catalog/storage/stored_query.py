"""A registered query as the catalog keeps it."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from seine.algebra.document_plan import published_tables_of
from seine.algebra.plan import Query, tables_needed
from seine.algebra.serialise import plan_to_json


class QueryPosition(Struct, frozen=True):
    """Where in the streams a query was registered.

    `entry` is the first journal entry that counts for it, `results` the length of the results at that moment,
    and `streams` has, of each stream that it reads, the number of the next arrival. `latest` has for
    each of them a timestamp that no tuple before exceeded, unless there was no tuple; it is None if unknown.
    `joined` says that it goes on with the groups of a query that was registered elsewhere.
    """

    entry: int
    results: int
    streams: dict[str, int]
    latest: dict[str, int] | None = None
    joined: bool = False


class StoredQuery(Struct, frozen=True):
    """A registered query: its text, its plan as JSON, and from where in the streams on it counts.

    Only tuples that arrive in `birth_epoch` or later count for it. `position` describes that moment for a
    reader; it is None for a query that has been there from the beginning. A paused query is in no network.
    `owner` is the name of whoever registered it, None if nobody said one.
    """

    name: str
    text: str
    plan: Any  # a JSON value
    inputs: tuple[str, ...] = ()
    options: dict[str, Any] = {}
    birth_epoch: int = 0
    position: QueryPosition | None = None
    paused: bool = False
    owner: str | None = None

    @staticmethod
    def of(
        query: Query,
        birth_epoch: int = 0,
        position: QueryPosition | None = None,
        owner: str | None = None,
    ) -> StoredQuery:
        """A query as the catalog keeps it."""
        inputs = tuple(sorted(tables_needed(query) - published_tables_of(query)))
        plan = plan_to_json(query.plan)
        options = dict(query.options)
        return StoredQuery(query.name, query.text, plan, inputs, options, birth_epoch, position, owner=owner)
