"""Logical plans of XSCL: blocks over streams of XML documents, joins of blocks, and what is told of them.

    SELECT * FROM S//book->b[.//author->x] FOLLOWED BY{x = y, 100} S//blog->g[.//author->y] PUBLISH p

    DocumentQuery  SELECT *, PUBLISH p
      DocumentJoin  FOLLOWED BY{x = y, 100}
        DocumentBlock  //book->b[.//author->x]
          Scan s
        DocumentBlock  //blog->g[.//author->y]
          Scan s

A join is in value-join normal form: its equalities are of variables, a left one and a right one; a path that
was written in a predicate has become a hidden variable of its block.

Cites: MMQJP 2 (XSCL, value-join normal form)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from seine.algebra.definitions import Source, StreamDef
from seine.algebra.plan import Plan, Query, Scan, walk
from seine.algebra.tree_pattern import PatternNode, TreePattern, joined_prefixes
from seine.algebra.types import JSON, STRING, XML, Field, Kind, Type

PUBLISHED = "QUERY"  # the format of the source of a stream that a query publishes


@dataclass(frozen=True)
class DocumentBlock(Plan):
    """The bindings of one tree pattern in each document of a stream: a row for each distinct binding."""

    input: Scan
    column: int  # the position of the documents
    pattern: TreePattern

    def __post_init__(self) -> None:
        if self.input.schema[self.column].type.kind is not Kind.XML:
            raise ValueError(f"column {self.column} of {self.input.stream.name} has no documents")

    @cached_property
    def schema(self) -> tuple[Field, ...]:
        """One column for each reported variable: the number of its node."""
        return tuple(Field(variable, STRING) for variable in self.pattern.reported)

    @property
    def inputs(self) -> tuple[Plan, ...]:
        return (self.input,)


@dataclass(frozen=True)
class DocumentJoin(Plan):
    """Combinations of different documents whose joined variables have equal string values.

    `ordered` (FOLLOWED BY): 0 < right time - left time <= within; else (JOIN) the times differ by at most
    `within`. None: however long. The time of a combination is that of its latest document.
    """

    left: DocumentJoin | DocumentBlock
    right: DocumentBlock
    ordered: bool
    equalities: tuple[tuple[str, str], ...]  # of a left variable and a right one
    within: int | None

    def __post_init__(self) -> None:
        left = {name for block in blocks_of(self.left) for name in block.pattern.variables}
        right = set(self.right.pattern.variables)
        if left & right:
            raise ValueError(f"variable {min(left & right)} is bound in two blocks")
        if not self.equalities or not all(a in left and b in right for a, b in self.equalities):
            raise ValueError("an equality relates a variable of the left to one of the right")
        if self.within is not None and self.within < 0:
            raise ValueError("a length of time is not negative")

    @cached_property
    def schema(self) -> tuple[Field, ...]:
        return self.left.schema + self.right.schema

    @property
    def inputs(self) -> tuple[Plan, ...]:
        return (self.left, self.right)


@dataclass(frozen=True)
class SelectedPath:
    """An item of SELECT: the node of a variable, or the first node, in document order, of a path below it."""

    variable: str
    path: PatternNode | None = None  # its end is marked as selected


@dataclass(frozen=True)
class DocumentQuery(Plan):
    """An XSCL query: a record for each distinct binding of the reported variables, with an output document.

    `select` None is SELECT *: a new root over the nodes that the blocks select. `publish` names the stream of
    output documents that other queries may read.
    """

    input: DocumentJoin | DocumentBlock
    select: tuple[SelectedPath, ...] | None = None
    publish: str | None = None

    def __post_init__(self) -> None:
        bound = {name for block in self.blocks for name in block.pattern.variables}
        if any(item.variable not in bound for item in self.select or ()):
            raise ValueError("SELECT names a variable that no block binds")

    @property
    def blocks(self) -> tuple[DocumentBlock, ...]:
        """The blocks from left to right."""
        return tuple(blocks_of(self.input))

    @property
    def time_type(self) -> Type:
        """The type of the event times of its streams."""
        stream = self.blocks[0].input.stream
        return stream.fields[stream.time].type

    @cached_property
    def schema(self) -> tuple[Field, ...]:
        """The times of the left operand (NULL for one block alone) and of the right, nodes, the document."""
        return (
            Field("left_ts", self.time_type),
            Field("right_ts", self.time_type),
            Field("bindings", JSON),
            Field("doc", STRING),
        )

    @property
    def inputs(self) -> tuple[Plan, ...]:
        return (self.input,)


def blocks_of(plan: Plan) -> Iterator[DocumentBlock]:
    """The blocks of a plan from left to right."""
    return (part for part in walk(plan) if isinstance(part, DocumentBlock))


def with_document_inputs(plan: Plan, inputs: tuple[Plan, ...]) -> Plan | None:
    """A plan node of documents with its inputs replaced; None if it is another kind of plan."""
    match plan, inputs:
        case DocumentBlock(), (Scan() as scan,):
            return replace(plan, input=scan)
        case DocumentJoin(), (DocumentJoin() | DocumentBlock() as left, DocumentBlock() as right):
            return replace(plan, left=left, right=right)
        case DocumentQuery(), (DocumentJoin() | DocumentBlock() as operand,):
            return replace(plan, input=operand)
    return None


def publication(query: Query) -> StreamDef | None:
    """The stream that a query publishes, (doc XML, ts); None if it publishes none.

    Its window bounds the lives of its documents: a record lives no longer than any document it is made of.
    Names in its documents are compared as they are in the streams that they come from.
    """
    plan = query.plan
    if not isinstance(plan, DocumentQuery) or plan.publish is None:
        return None
    streams = [block.input.stream for block in plan.blocks]
    windows = [stream.window for stream in streams if stream.window is not None]
    namespaces = joined_prefixes(map(namespaces_of, streams))
    options = (("namespaces", namespaces),) if namespaces else ()
    return StreamDef(
        name=plan.publish,
        fields=(Field("doc", XML), Field("ts", plan.time_type)),
        time=1,
        source=Source(query.name, PUBLISHED, options),
        window=min(windows, default=None),
    )


def namespaces_of(stream: StreamDef) -> str | None:
    """The option of a stream that says how names of its documents are compared."""
    return dict(stream.source.options).get("namespaces") if stream.source is not None else None


def published_tables_of(query: Query) -> frozenset[str]:
    """The names of the streams that a query reads and that other queries publish."""
    return frozenset(
        part.stream.name for part in walk(query.plan) if isinstance(part, Scan) and is_published(part.stream)
    )


def is_published(stream: StreamDef) -> bool:
    """Whether a stream is what a query publishes."""
    return stream.source is not None and stream.source.format == PUBLISHED
