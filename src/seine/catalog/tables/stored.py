"""What the catalog keeps of queries, sinks and nodes, and a source's options as one text."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from msgspec import Struct

from seine.algebra.definitions import SinkDef, Source, SparkReader
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


@dataclass(frozen=True)
class StoredSink:
    """A sink, an `identity` that no other has or will have, and where it begins to read.

    `start` is the length of the results at its creation, in bytes: it delivers what comes after.
    """

    definition: SinkDef
    identity: str
    start: int


class StoredNode(Struct, frozen=True):
    """A node that runs: the columns that it is looked up by, and its whole JSON form.

    Also its conditions over the rows of its inputs, the closest ancestor that is no selection, and those of
    the inputs of that one.
    """

    id: int
    kind: str
    stage: int
    inputs: tuple[int, ...]  # the nodes at its ports
    form: dict[str, Any]
    predicates: tuple[str, ...] = ()
    selection_ancestor: int | None = None
    join_ancestors: tuple[int, ...] = ()


def options_text(source: Source) -> str:
    """The text of a source's options, pairs in the order written; `with_options` is the inverse.

    Of a source that Spark reads, its format and options stand beside them; a secret is a `${NAME}` there too.
    """
    if source.reader is None:
        return json.dumps(source.options)
    reader = {"format": source.reader.format, "options": source.reader.options}
    return json.dumps({"options": source.options, "reader": reader})


def with_options(path: str, format_: str, text: str) -> Source:
    """A source of a path and format, with the options that a text of `options_text` stands for.

    >>> reader = SparkReader("kafka", (("subscribe", "bids"),))
    >>> source = Source("", "JSON", (("clock", "partition"),), reader)
    >>> with_options("", "JSON", options_text(source)) == source
    True
    """
    form: Any = json.loads(text)
    if isinstance(form, list):
        return Source(path, format_, _pairs(form))
    reader = SparkReader(form["reader"]["format"], _pairs(form["reader"]["options"]))
    return Source(path, format_, _pairs(form["options"]), reader)


def _pairs(form: list[list[str]]) -> tuple[tuple[str, str], ...]:
    return tuple((key, value) for key, value in form)
