"""What a service answers to the console, as types."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field
from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

from seine.service.answers import CostAnswer, RelationAnswer
from seine.service.refusal_form import RefusalReason


class QueryLine(TypedDict):
    """A query in a list of very many."""

    query: str
    state: Literal["running", "paused", "failed"]
    outputs: int
    held: Annotated[int, Field(description="rows, groups and punctuations in the nodes that it uses")]
    entry: Annotated[int, Field(description="the first that counts for it")]


class QueryPage(TypedDict):
    """Some of the queries."""

    total: Annotated[int, Field(description="of all queries")]
    matching: Annotated[int, Field(description="queries that were asked for, on all pages")]
    queries: list[QueryLine]


class ChapterAnswer(TypedDict):
    """A node that a query uses, with what there is to say about the query there."""

    node: int
    kind: str
    stage: int
    text: str
    says: list[str]


class StoryAnswer(TypedDict):
    """What a query does in the network: what it shares with whom, and why."""

    query: str
    statement: Annotated[str, Field(description="that creates it, to be changed and registered again")]
    headline: str
    inferred: Annotated[list[str], Field(description="what follows from its conditions")]
    chapters: list[ChapterAnswer]
    holds: Annotated[list[str], Field(description="what it keeps, and what frees that")]
    limits: Annotated[list[str], Field(description="the most that it may do, hold and deliver")]


class ColumnAnswer(TypedDict):
    """A column of a stream or relation."""

    name: str
    type: str


class TableAnswer(TypedDict):
    """A stream, relation or view that queries can read."""

    name: str
    kind: Literal["stream", "relation", "view", "published"]
    columns: list[ColumnAnswer]
    time: Annotated[str | None, Field(description="the column of the event time")]
    window: Annotated[str | None, Field(description="how long a tuple lives; null if for ever")]
    punctuated: Annotated[list[list[str]], Field(description="the columns of each punctuation scheme")]
    pushed: Annotated[bool, Field(description="whether records can be sent to it")]


class SchemaAnswer(TypedDict):
    """What can be named in a script."""

    tables: list[TableAnswer]
    functions: list[str]


class PunctuationEdge(TypedDict):
    """An edge of a punctuation graph: a punctuation of values that the tails have closes the head."""

    tails: list[str]
    head: str
    label: str


class AdditionAnswer(TypedDict):
    """Something to add to a script: a punctuation scheme or window of a stream, or an option of the query."""

    kind: Literal["punctuation", "window", "unbounded"]
    stream: str
    columns: list[str]


class CureAnswer(TypedDict):
    """Additions that make a refused query safe, or accepted, all of them together."""

    text: str
    additions: list[AdditionAnswer]


class CheckedQuery(TypedDict):
    """What a registration would say of one query of a script."""

    query: str
    line: int
    column: int
    verdict: Literal["safe", "by wish", "refused"]
    reason: str
    hint: str | None
    purgeable: Annotated[dict[str, bool], Field(description="of each stream that it keeps")]
    graph: Annotated[list[PunctuationEdge], Field(description="which punctuations close what")]
    cures: list[CureAnswer]
    builds: Annotated[
        list[str] | None, Field(description="the kinds of nodes it adds; null if not worked out")
    ]
    shares: Annotated[int | None, Field(description="nodes that stand already and that it would use")]
    stages: Annotated[int | None, Field(description="that the pipeline needs with it")]
    related: list[RelationAnswer]


class CheckAnswer(TypedDict):
    """What a registration of a script would say; nothing is registered."""

    error: Annotated[RefusalReason | None, Field(description="what is wrong with the script as a whole")]
    queries: list[CheckedQuery]
    drops: Annotated[list[str], Field(description="queries that it would drop or replace")]
    declares: Annotated[list[str], Field(description="streams, relations and views that it would add")]
    stages: Annotated[int, Field(description="that the pipeline has")]


class TrialAnswer(TypedDict):
    """What queries say of the last rows of their streams; nothing is registered."""

    rows: Annotated[dict[str, int], Field(description="of each stream, how many rows they were tried on")]
    total: Annotated[int, Field(description="records that there are")]
    records: Annotated[list[dict[str, Any]], Field(description="the first of them")]
    failed: Annotated[dict[str, str], Field(description="queries that did too much, and why")]


class BoundDocument(TypedDict):
    """A document of a record of an XSCL query, and what a block binds in it."""

    stream: str
    text: Annotated[str | None, Field(description="the document; null if it is not among the recent rows")]
    nodes: Annotated[dict[str, int | str], Field(description="of each variable: its node, as in records")]
    hidden: Annotated[list[str], Field(description="variables that stand for paths, and are not reported")]


class BoundDocumentsAnswer(TypedDict):
    """The documents that a record of an XSCL query was made of."""

    documents: Annotated[list[BoundDocument], Field(description="one for each block, from left to right")]
    equal: Annotated[list[list[str]], Field(description="pairs of variables with equal values")]
    fitting: Annotated[int, Field(description="combinations of recent documents that fit the record")]


class StageColumn(TypedDict):
    """Where a stage begins in the picture of the network."""

    stage: int
    left: int


class BoxAnswer(TypedDict):
    """A box of the picture: a node, or many that do alike."""

    number: int
    x: int
    y: int
    stage: int
    kind: str
    title: str
    lines: list[str]
    inputs: Annotated[list[int], Field(description="boxes whose rows arrive here")]
    nodes: Annotated[list[int], Field(description="the first of its nodes")]
    count: Annotated[int, Field(description="of its nodes")]
    users: Annotated[int, Field(description="queries that use it")]
    named_users: list[str]
    reason: Annotated[str | None, Field(description="why they share it")]
    held: Annotated[int, Field(description="rows, groups and punctuations that it holds")]
    rate: Annotated[float, Field(description="rows that it sends on in a second, over the last seconds")]
    cpu_seconds: Annotated[float, Field(description="of its nodes, since the service was started")]


class NetworkAnswer(TypedDict):
    """The network as a picture."""

    version: int
    stages: list[StageColumn]
    boxes: list[BoxAnswer]
    used: Annotated[list[int], Field(description="the boxes of the query that was asked for")]


class NodeAnswer(TypedDict):
    """A node of the network."""

    node: int
    kind: str
    stage: int
    stateful: bool
    inputs: list[int]
    text: str
    details: list[str]
    users: int
    named_users: list[str]
    reason: str | None
    state_rows: int
    group_rows: int
    punctuations: int
    rate: float
    cost: Annotated[CostAnswer, Field(description="since the service was started")]
    box: int


class StageSeconds(TypedDict):
    """How long the longest task of a stage took; stage 0 reads."""

    stage: int
    seconds: float


class BatchAnswer(TypedDict):
    """A micro-batch that was delivered."""

    entry: int
    at: Annotated[str, Field(description="when: ISO 8601, UTC")]
    seconds: Annotated[float, Field(description="since it was admitted, or the one before was delivered")]
    stages: list[StageSeconds]
    input_rows: int
    output_rows: int
    dead_letters: int


class BatchesAnswer(TypedDict):
    """The last micro-batches of this process, newest first, and what waits."""

    batches: list[BatchAnswer]
    waiting: Annotated[int, Field(description="entries that are admitted and not delivered")]
    lag_bytes: Annotated[int, Field(description="of all sources, not admitted yet")]
