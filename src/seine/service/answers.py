"""What a service answers, as types: JSON objects whose fields the HTTP interface describes from here.

What a sink is doing, as a service answers it.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

from seine.sinks.record_piece import Waiting
from seine.sinks.sink_progress import MissedResults
from seine.sinks.sink_threads import SinkStatus

MOST_QUERIES = 20  # of a script, that are searched for what they have in common with others

ExactShare = Annotated[
    float | None,
    Field(description="an estimate of the share of the exact importance that was delivered within memory"),
]


class QueryCounts(TypedDict):
    """How many queries are registered."""

    running: int
    paused: int
    failed: int


class StageCounts(TypedDict):
    """How many stages the network uses, and how many the pipeline has."""

    used: int
    stages: int


class RetainedAnswer(TypedDict):
    """The input that is kept for queries that begin with history."""

    first: Annotated[int, Field(description="the oldest retained entry; -1 if there is none")]
    last: Annotated[int, Field(description="the newest one; what follows is in the journal")]
    rows: int
    bytes: Annotated[int, Field(description="on disk, compressed")]


class KeptAnswer(TypedDict):
    """From which positions on results and dead letters are kept; 0 if from the beginning."""

    results: int
    dead_letters: int


class MissedAnswer(TypedDict):
    """What a sink could not deliver, because it was no longer kept."""

    bytes: Annotated[int, Field(description="of the results, of all queries, in all gaps")]
    start: Annotated[int, Field(description="the position at which the last gap begins")]
    end: Annotated[int, Field(description="the position from which on it went on")]
    since: Annotated[str, Field(description="when that was found: ISO 8601, UTC")]


class WaitingAnswer(TypedDict):
    """What a sink has not delivered yet, of the micro-batches since the service was started."""

    batches: Annotated[int, Field(description="micro-batches that end after its position")]
    records: Annotated[
        int | None, Field(description="of its queries; null if they are more than a piece has")
    ]
    since: Annotated[str, Field(description="when the first of them was committed: ISO 8601, UTC")]


class SinkAnswer(TypedDict):
    """One sink, and how far it has come."""

    sink: str
    queries: list[str]
    target: Annotated[str, Field(description="a folder or a URL, never with a secret")]
    format: str
    state: Annotated[
        Literal["running", "retrying"], Field(description="retrying while its target cannot be written")
    ]
    reason: Annotated[str | None, Field(description="why it is retrying")]
    since: Annotated[str | None, Field(description="of its trouble: ISO 8601, UTC")]
    records: Annotated[int, Field(description="delivered so far")]
    position: Annotated[int, Field(description="in the results, in bytes: what is before it is delivered")]
    lag: Annotated[int, Field(description="bytes of the results, of all queries, that come after it")]
    undelivered: Annotated[int, Field(description="records that it has given up: a webhook's dead letters")]
    missed: Annotated[
        MissedAnswer | None, Field(description="what it was too far behind for; null if nothing")
    ]
    waiting: Annotated[
        WaitingAnswer | None, Field(description="what it has not delivered yet; null if nothing")
    ]


class StatusAnswer(TypedDict):
    """What the service is doing, in numbers."""

    folder: str
    process: Annotated[int, Field(description="that serves; 0 if the service is stopped")]
    version: Annotated[int, Field(description="of the network")]
    entry: Annotated[int, Field(description="the last that was delivered; -1 before the first")]
    written: Annotated[int, Field(description="the last that was admitted")]
    waiting: Annotated[
        int,
        Field(description="entries after `entry` that there is work for: 0 if all is delivered"),
    ]
    batches: int
    input_rows: int
    output_rows: int
    dead_letters: int
    rows_per_second: Annotated[float, Field(description="over the last seconds")]
    state_rows: Annotated[int, Field(description="tuples and punctuations held for joins")]
    group_rows: Annotated[int, Field(description="groups held by aggregates and set operators, about")]
    punctuations: Annotated[
        int, Field(description="punctuations held: those of joins, among state_rows, and those of groups")
    ]
    shed: Annotated[int, Field(description="tuples that memory limits pushed out or kept out")]
    exact_share: ExactShare
    state_by_query: Annotated[
        dict[str, dict[str, int]],
        Field(description="of the queries that hold most, how much of which streams; joins are shared"),
    ]
    streams: int
    stream_troubles: Annotated[
        dict[str, str], Field(description="streams that have failed, are idle or hold others back, in words")
    ]
    pipeline_trouble: Annotated[
        str | None, Field(description="why the pipeline does not run, if it waits for a source of Spark's")
    ]
    relations: int
    queries: QueryCounts
    dearest: Annotated[
        dict[str, CostAnswer],
        Field(description="the queries with most CPU time, and their costs"),
    ]
    over_quota: Annotated[
        dict[str, str],
        Field(description="queries that are paused for their owner's quota, and why; the first"),
    ]
    nodes: int
    joined_births: Annotated[
        int, Field(description="queries that go on with the groups of queries of another age")
    ]
    depth: StageCounts
    retained: Annotated[RetainedAnswer | None, Field(description="null without --retain")]
    kept: KeptAnswer
    sinks: list[SinkAnswer]


class SourcePosition(TypedDict):
    """How far a stream has been read."""

    file: Annotated[str, Field(description="the file that was read last; empty before the first")]
    offset: Annotated[int, Field(description="bytes of a text file, rows of a Parquet file")]
    arrivals: Annotated[int, Field(description="tuples admitted so far")]
    offsets: Annotated[Any, Field(description="of a stream that Spark reads, in its format's form")]


class StreamLag(TypedDict):
    """What lies in the source of a stream and has not been admitted yet."""

    bytes: int
    rows: Annotated[int | None, Field(description="where files or topics say how many they have; else null")]


class RefusedLines(TypedDict):
    """Lines of a stream that were not admitted."""

    late: int
    dead: Annotated[int, Field(description="all dead letters, late ones among them")]
    last_reason: Annotated[str, Field(description="of the last one; empty if there is none")]


class HoldingBack(TypedDict):
    """Streams whose results wait for another one."""

    streams: list[str]
    since: Annotated[str, Field(description="when its watermark last moved: ISO 8601, UTC")]


class StreamAnswer(TypedDict):
    """One stream."""

    stream: str
    state: Literal["running", "idle", "failed"]
    since: Annotated[str | None, Field(description="of that state, if it is not running: ISO 8601, UTC")]
    file: Annotated[str | None, Field(description="that failed")]
    reason: Annotated[str | None, Field(description="why it failed")]
    position: SourcePosition
    lag: StreamLag
    watermark: Annotated[
        int | str | None,
        Field(description="no later tuple is older; ISO 8601 for a TIMESTAMP; null before the first tuple"),
    ]
    refused: RefusedLines
    holds_back: Annotated[HoldingBack | None, Field(description="who waits for it; null if nobody")]
    silent: Annotated[
        list[str], Field(description="partitions of topics that never sent, or whose clock nobody waits for")
    ]


class SnapshotAnswer(TypedDict):
    """A snapshot of the service's folder, for a backup."""

    folder: Annotated[str, Field(description="where it is; whoever asked for it removes it")]
    entry: Annotated[int, Field(description="the last entry that is delivered in it")]


class PushAnswer(TypedDict):
    """Records that were taken, durably."""

    stream: str
    lines: int
    repeated: Annotated[bool, Field(description="they had come before, with the same Idempotency-Key")]


class DeadLetterAnswer(TypedDict):
    """A line that was not let in, or another notice, with the reason."""

    position: Annotated[int, Field(description="where it begins in the dead-letter file, in bytes")]
    stream: NotRequired[str]
    query: NotRequired[str]
    file: NotRequired[str]
    line: NotRequired[int]
    topic: NotRequired[str]
    partition: NotRequired[int]
    offset: NotRequired[int]
    reason: str
    record: NotRequired[str]


class DeadLetterPage(TypedDict):
    """Dead letters from a position on."""

    letters: list[DeadLetterAnswer]
    next: Annotated[int, Field(description="where to go on: the `after` of the next request")]
    more: Annotated[bool, Field(description="whether there are more now")]


class RegistrationPosition(TypedDict):
    """Where the streams were when a query was registered: what comes after counts."""

    entry: Annotated[int, Field(description="the first that counts")]
    results: Annotated[int, Field(description="the length of the results then, in bytes")]
    streams: Annotated[
        dict[str, int], Field(description="of each of its streams the number of the next arrival")
    ]


class FailureAnswer(TypedDict):
    """Why a query failed: what it did, and the first entry that does not count for it."""

    entry: int
    kind: Literal["budget", "death", "error", "memory", "quota", "function"]
    reason: str


class CostAnswer(TypedDict):
    """What a node or a query has cost since the service was started."""

    cpu_seconds: Annotated[float, Field(description="of the threads that run tasks; not Spark's own")]
    rows_in: int
    rows_out: int
    state_bytes: Annotated[int, Field(description="held at the moment")]


class QueryCostAnswer(TypedDict):
    """The cost of a query: of each node that it uses an equal share, as everybody has who uses it."""

    query: str
    owner: str | None
    cost: CostAnswer


class NodeCostAnswer(TypedDict):
    """The cost of a node, and who uses it."""

    node: int
    kind: str
    users: int
    used_by: Annotated[list[str], Field(description="the first of them")]
    cost: CostAnswer


class CostsAnswer(TypedDict):
    """What costs what: of all nodes together, and the dearest queries and nodes."""

    total: CostAnswer
    queries: list[QueryCostAnswer]
    nodes: list[NodeCostAnswer]


class QueryAnswer(TypedDict):
    """One registered query."""

    query: str
    owner: Annotated[str | None, Field(description="who registered it: the name of a token, admin or local")]
    state: Literal["running", "paused", "failed"]
    failure: Annotated[
        FailureAnswer | None,
        Field(description="why it failed, or was paused for its owner's quota; null if neither"),
    ]
    waits_for: Annotated[
        dict[str, str],
        Field(description="streams of it that have failed or hold back others of its streams, in words"),
    ]
    since: RegistrationPosition
    outputs: int
    importance: Annotated[float | None, Field(description="the sum over its results; null if they have none")]
    shed: Annotated[int, Field(description="tuples that its memory pushed out or kept out")]
    exact_share: ExactShare
    state_rows: Annotated[
        dict[str, int], Field(description="tuples and punctuations held for its joins, by stream")
    ]
    group_rows: Annotated[
        int, Field(description="groups held by its aggregates and set operators, about; they are shared")
    ]
    punctuations: Annotated[
        int, Field(description="punctuations held by its joins and groups; they are shared")
    ]
    text: str


class RelationAnswer(TypedDict):
    """What one part of a query has in common with other queries."""

    kind: Annotated[
        str,
        Field(
            description="what is compared: conditions, keys of groups, inputs of a set operator",
            json_schema_extra={"enum": ["select", "join", "group", "union", "union_all", "except"]},
        ),
    ]
    over: Annotated[list[str], Field(description="the tables that the conditions are on; else empty")]
    equal: Annotated[list[str], Field(description="queries that have the same")]
    weaker: Annotated[list[str], Field(description="queries with weaker conditions, or fewer keys or inputs")]
    stronger: Annotated[
        list[str], Field(description="queries with stronger conditions, or more keys or inputs")
    ]
    text: Annotated[str, Field(description="the same in words")]


class RelatedAnswer(TypedDict):
    """What a query has in common with those that run."""

    query: str
    related: list[RelationAnswer]


class OutcomeAnswer(TypedDict):
    """What a change did."""

    version: Annotated[int, Field(description="of the network after the change")]
    entry: Annotated[int, Field(description="the first that runs with it")]
    registered: list[str]
    dropped: list[str]
    related: Annotated[
        dict[str, list[RelationAnswer]] | None,
        Field(
            description="of each query that was registered, a few that have something in common with it; "
            f"null if nobody has looked: they are more than {MOST_QUERIES}, or the request said not to"
        ),
    ]


def sink_answer(status: SinkStatus) -> SinkAnswer:
    """The answer of `status`."""
    sink, trouble = status.sink.definition, status.trouble
    return {
        "sink": sink.name,
        "queries": list(sink.queries),
        "target": sink.target,
        "format": sink.format,
        "state": "running" if trouble is None else "retrying",
        "reason": None if trouble is None else trouble[0],
        "since": None if trouble is None else trouble[1],
        "records": status.records,
        "position": status.position,
        "lag": status.lag,
        "undelivered": status.undelivered,
        "missed": None if status.missed is None else _missed_answer(status.missed),
        "waiting": None if status.waiting is None else _waiting_answer(status.waiting),
    }


def _missed_answer(missed: MissedResults) -> MissedAnswer:
    return {"bytes": missed.bytes, "start": missed.start, "end": missed.end, "since": missed.since}


def _waiting_answer(waiting: Waiting) -> WaitingAnswer:
    since = datetime.fromtimestamp(waiting.since, UTC).isoformat(timespec="seconds")
    return {"batches": waiting.batches, "records": waiting.records, "since": since}
