"""Placing a query of documents: witnesses, joins, forms and publication, each found or built.

    DocumentQuery over joins of blocks
      block          ─> witness node on its stream        a row: the path of each joined variable
      join           ─> document join of two operands     a row: its class, a set of edges
      blocks, SELECT ─> complete node behind it           a row: its form
      T, birth       ─> deliver, publish                  a row: tag of the form, bounds, epoch

Nodes depend on streams alone: a query is a row in each table. A known class with a known form is one deliver
row. In a chain of joins each join but the last feeds the next by a partial node, one stage higher.

From the plan of a query of documents to its forms: numbered variables, paths, bounds of time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

from seine.algebra.document_plan import DocumentBlock, DocumentJoin, DocumentQuery
from seine.algebra.expressions import Call, Column, Expression, Literal
from seine.algebra.plan import Query
from seine.algebra.tree_pattern import PatternNode, TreePattern
from seine.algebra.types import BIGINT, BOOLEAN, STRING, XML
from seine.documents.path_witnesses import path_pattern
from seine.graph.node import Filter, Node, Port
from seine.graph.snapshot import TagIdentity
from seine.network.joins.join_placing import place_stream
from seine.network.plan.block_conditions import split_constants
from seine.network.plan.running_plan import with_arrival
from seine.network.site.placing import UNPLACED, BlockRows, NodeFields, Placer, port_of
from seine.operators.documents.class_forms import constants_of
from seine.operators.documents.complete import CompleteNode, complete_signature
from seine.operators.documents.document_form import DocumentForm, FormBlock, FormItem
from seine.operators.documents.document_join import DocumentJoinNode, document_join_signature
from seine.operators.documents.join_classes import NO_TIME_BOUND
from seine.operators.documents.operand_rows import (
    APART,
    BINDINGS,
    DOCUMENT,
    IDENTITY,
    LEFT_TIME,
    OPERAND,
    PAIR,
    RESULT_ARRIVAL,
    RIGHT_TIME,
    TAG,
    result_types,
)
from seine.operators.documents.partial import PartialNode, partial_signature
from seine.operators.documents.publish import PublishNode, publish_signature
from seine.operators.documents.witness import WitnessNode, witness_signature

_KEY = (Column(IDENTITY, BIGINT),)


class _Operand(NamedTuple):
    """The node that gives the operands of one side, and the number of the pattern of a variable there."""

    node: Node
    number: Callable[[str], int]


class DocumentPlacer:
    """Places one query of documents."""

    def __init__(self, placer: Placer, query: Query, plan: DocumentQuery, born: int | None) -> None:
        """`born` is the epoch from which on documents count; None if the network is not live."""
        self._placer, self._site = placer, placer.site
        self._query, self._plan, self._born = query, plan, born
        limit = query.option("limit", None)
        self._most = limit if isinstance(limit, int) else None

    def results(self) -> BlockRows:
        """The rows that become the query's records."""
        first, joins = chain_of(self._plan.input)
        if not joins:
            return self._published(*self._single(first))
        left = self._witness(first)
        for place, join in enumerate(joins):
            form = join_form(self._plan, first, joins, place, self._most)
            complete, tag = self._join(left, join, form)
            if place < len(joins) - 1:
                left = self._partial(complete, tag, bounds_of(join))
        return self._published(complete, tag, bounds_of(joins[-1]))

    def _single(self, block: DocumentBlock) -> tuple[CompleteNode, int, Bounds]:
        witness = self._witness_node(block)
        pattern = self._row(witness.patterns, path_text(block.pattern, None))
        complete = self._complete(witness, single=True)
        tag = self._claim_form(complete, pattern, single_form(self._plan, block, self._most), (0, 0))
        return complete, tag, (0, 0)

    def _join(self, left: _Operand, join: DocumentJoin, form: DocumentForm) -> tuple[CompleteNode, int]:
        """The pairs of one join, completed, and the tag of its form there."""
        right = self._witness(join.right)
        node, orientation = self._document_join(left.node, right.node)
        edges = " ".join(sorted({f"{left.number(a)}:{right.number(b)}" for a, b in join.equalities}))
        class_ = self._placer.claim_tag(TagIdentity(node.id, ((str(orientation), edges),)))
        bounds = rounded(bounds_of(join))
        self._row(node.classes, class_, orientation, edges, *bounds)
        complete = self._complete(node, single=False)
        return complete, self._claim_form(complete, class_, form, bounds)

    def _claim_form(self, complete: CompleteNode, class_: int, form: DocumentForm, bounds: Bounds) -> int:
        text = form.printed()
        tag = self._placer.claim_tag(TagIdentity(complete.id, ((str(class_), text),)))
        self._row(complete.forms, class_, text, tag, *bounds, *constants_of(form))
        return tag

    # ---- nodes

    def _witness(self, block: DocumentBlock) -> _Operand:
        node = self._witness_node(block)
        return _Operand(node, lambda name: self._row(node.patterns, path_text(block.pattern, name)))

    def _witness_node(self, block: DocumentBlock) -> WitnessNode:
        stream = block.input.stream
        live = with_arrival(stream) if self._born is not None else stream
        source = place_stream(self._placer, live)
        identity = witness_signature(source.id, block.column, block.pattern.any_namespace, self._placer.owner)

        def build() -> WitnessNode:
            common = self._placer.common(OPERAND, source.streams, source.hold, 0, source.stage)
            return WitnessNode(
                ports=(port_of(source),),
                patterns=UNPLACED,
                column=block.column,
                arrival=live.arrival,
                any_namespace=block.pattern.any_namespace,
                **common,
            )

        node = self._with_table(identity, build, "patterns", [Literal("", STRING)])
        assert isinstance(node, WitnessNode)
        return node

    def _document_join(self, left: Node, right: Node) -> tuple[DocumentJoinNode, int]:
        """The join of two nodes of operands, and which of its ports has the left ones."""
        nodes = [left] if left.id == right.id else sorted((left, right), key=lambda node: node.id)
        identity = document_join_signature(tuple(node.id for node in nodes), self._placer.join_owner)

        def build() -> DocumentJoinNode:
            ports = tuple(Port(node.id, node.types, node.streams, 0, _KEY, broadcast=True) for node in nodes)
            streams = [stream for node in nodes for stream in node.streams]
            stage = max(node.stage for node in nodes) + 1
            common = self._placer.common(PAIR, streams, (), 0, stage, owner=self._placer.join_owner)
            return DocumentJoinNode(ports=ports, classes=UNPLACED, **common)

        constants = [
            Literal(0, BIGINT),
            Literal(0, BIGINT),
            Literal("", STRING),
            Literal(0, BIGINT),
            Literal(0, BIGINT),
        ]
        node = self._with_table(identity, build, "classes", constants)
        assert isinstance(node, DocumentJoinNode)
        return node, node.inputs.index(left.id)

    def _complete(self, below: Node, *, single: bool) -> CompleteNode:
        def build() -> CompleteNode:
            return CompleteNode(
                ports=(port_of(below),),
                forms=UNPLACED,
                single=single,
                **self._like(below, result_types(self._plan.time_type)),
            )

        number = Literal(0, BIGINT)
        text = Literal("", STRING)
        constants = [number, text, number, number, number, text, text]
        node = self._with_table(complete_signature(below.id, self._placer.owner), build, "forms", constants)
        assert isinstance(node, CompleteNode)
        return node

    def _partial(self, complete: CompleteNode, tag: int, bounds: Bounds) -> _Operand:
        def build() -> PartialNode:
            return PartialNode(
                ports=(port_of(complete),), variables=UNPLACED, **self._like(complete, OPERAND)
            )

        number = Literal(0, BIGINT)
        constants = [number, number, number, Literal("", STRING)]
        node = self._with_table(
            partial_signature(complete.id, self._placer.owner), build, "variables", constants
        )
        assert isinstance(node, PartialNode)
        return _Operand(node, lambda name: self._row(node.variables, tag, *bounds, name))

    def _published(self, complete: CompleteNode, tag: int, bounds: Bounds) -> BlockRows:
        """The results of the query; if it publishes them, as a stream too."""
        rows = BlockRows(complete, self._conditions(tag, bounds), (), _outputs(complete))
        if self._plan.publish is not None:
            shape, _ = split_constants(rows.conditions)
            arrival = () if self._born is None else (BIGINT,)
            candidate = PublishNode(
                ports=(port_of(complete),),
                filter=Filter(shape.shape, UNPLACED),
                stream=self._plan.publish,
                **self._like(complete, (XML, self._plan.time_type, *arrival)),
            )
            identity = publish_signature(self._plan.publish)
            node = self._site.find(identity)  # one that is read outlives its publisher's quarantine
            if node is None:
                node = self._placer.insert_with_table(candidate, shape.constants, identity)
            assert isinstance(node, PublishNode)
            self._placer.claim_node(node.id)
            self._placer.claim_row(node.filter.table, shape.constants)
        return rows

    def _conditions(self, tag: int, bounds: Bounds) -> tuple[Expression, ...]:
        """What results of this query satisfy, of those of its node."""
        return (
            _compared("eq", TAG, tag),
            _compared("ge", APART, bounds[0]),
            _compared("le", APART, bounds[1]),
            _compared("ge", RESULT_ARRIVAL, self._born or 0),
        )

    # ---- tables

    def _like(self, node: Node, types: Iterable[object]) -> NodeFields:
        return self._placer.common(tuple(types), node.streams, node.hold, 0, node.stage)  # type: ignore[arg-type]

    def _with_table(
        self, identity: tuple[object, ...], build: Callable[[], Node], field: str, constants: list[Literal]
    ) -> Node:
        """A node with one parameter table, found or built, and claimed."""
        node = self._site.find(identity)
        if node is None:
            node = self._site.insert(build(), identity)
            node = self._site.connect(node, **{field: self._site.add_table(node.id, constants)})
        self._placer.claim_node(node.id)
        return node

    def _row(self, table: int, *values: int | str) -> int:
        """The number of the row of these constants."""
        constants = [Literal(value, STRING if isinstance(value, str) else BIGINT) for value in values]
        claim = self._site.claim_row(table, constants, self._placer.query)
        self._placer.claims.append(claim)
        return claim.number


def _outputs(complete: CompleteNode) -> tuple[Expression, ...]:
    return tuple(Column(at, complete.types[at]) for at in (LEFT_TIME, RIGHT_TIME, BINDINGS, DOCUMENT))


def _compared(operator: str, position: int, value: int) -> Expression:
    return Call(operator, (Column(position, BIGINT), Literal(value, BIGINT)), BOOLEAN)


T = TypeVar("T")
Bounds = tuple[int, int]  # of right time - left time, inclusive


def chain_of(plan: DocumentJoin | DocumentBlock) -> tuple[DocumentBlock, list[DocumentJoin]]:
    """The first block of a chain, and its joins from left to right."""
    joins: list[DocumentJoin] = []
    while isinstance(plan, DocumentJoin):
        joins.insert(0, plan)
        plan = plan.left
    return plan, joins


def bounds_of(join: DocumentJoin) -> Bounds:
    """How far apart the operands of a join may be in time."""
    most = NO_TIME_BOUND if join.within is None else join.within
    return (1 if join.ordered else -most), most


def rounded(bounds: Bounds) -> Bounds:
    """Bounds that are at least as wide, and few: ends of a power of two.

    >>> rounded((1, 100)), rounded((-5, 5)), rounded((1, 0))
    ((1, 128), (-8, 8), (1, 1))
    """
    low, high = bounds
    most = min(1 << max(high - 1, 0).bit_length(), NO_TIME_BOUND)
    return (low if low > 0 else -most if low < 0 else min(low, 0), most)


def form_block(pattern: TreePattern, alone: bool) -> FormBlock:
    """A pattern with its variables called by number; one alone without any tells selected nodes apart."""
    return _remembered(pattern, f"_form{alone}", lambda: _form_block(pattern, alone))


def _form_block(pattern: TreePattern, alone: bool) -> FormBlock:
    names, reported = list(pattern.variables), [pattern.variables.index(one) for one in pattern.reported]
    telling = list(reported)
    if alone and not reported:
        pattern = TreePattern(_with_selected_bound(pattern.root), pattern.any_namespace)
        names = list(pattern.variables)
        telling = [names.index(next(n.variable for n in pattern.root.walk() if n.selected) or "")]
    numbers = {name: str(number) for number, name in enumerate(names)}
    plain = TreePattern(_numbered(pattern.root, numbers), pattern.any_namespace)
    return FormBlock(plain, tuple(names), tuple(reported), tuple(telling))


def _with_selected_bound(node: PatternNode) -> PatternNode:
    if node.selected:
        return node if node.variable is not None else replace(node, variable=" selected", hidden=True)
    return replace(node, children=tuple(map(_with_selected_bound, node.children)))


def _numbered(node: PatternNode, numbers: dict[str, str]) -> PatternNode:
    variable = None if node.variable is None else numbers[node.variable]
    children = tuple(_numbered(child, numbers) for child in node.children)
    return replace(node, variable=variable, hidden=False, children=children)


def path_text(pattern: TreePattern, variable: str | None) -> str:
    """The steps from the root to a variable, or to the selected node, without predicates, as JSON."""
    return _remembered(pattern, f"_path {variable}", lambda: _path_text(pattern, variable))


def _remembered(pattern: TreePattern, name: str, make: Callable[[], T]) -> T:
    """What follows from a pattern, kept with it: queries of a script share the patterns of their blocks."""
    known = pattern.__dict__  # frozen, but this follows from its fields
    if name not in known:
        known[name] = make()
    value: T = known[name]
    return value


def _path_text(pattern: TreePattern, variable: str | None) -> str:
    if variable is not None:
        return json.dumps(path_pattern(pattern, variable), separators=(",", ":"))
    path = _selected_path(pattern.root)
    return json.dumps([[node.axis, node.name, node.is_attribute] for node in path], separators=(",", ":"))


def _selected_path(node: PatternNode) -> tuple[PatternNode, ...]:
    trunk = [child for child in node.children if child.leads_to_selected]
    return (node, *(_selected_path(trunk[0]) if trunk else ()))


def single_form(plan: DocumentQuery, block: DocumentBlock, most: int | None) -> DocumentForm:
    """The form of a query of one block that delivers at most so many records."""
    return DocumentForm(None, form_block(block.pattern, True), (), _items(plan), most=_wanted(plan, most))


def join_form(
    plan: DocumentQuery, first: DocumentBlock, joins: Sequence[DocumentJoin], place: int, most: int | None
) -> DocumentForm:
    """The form of one join of a chain, of a query that delivers at most so many records."""
    join, is_last = joins[place], place == len(joins) - 1
    left = form_block(first.pattern, False) if place == 0 else None
    later = {name for one in joins[place + 1 :] for name, _ in one.equalities}
    bound = {
        name
        for part in (first, *(one.right for one in joins[: place + 1]))
        for name in part.pattern.variables
    }
    carried = None if is_last else tuple(sorted(later & bound))
    right, wanted = form_block(join.right.pattern, False), _wanted(plan, most) if is_last else None
    return DocumentForm(left, right, join.equalities, _items(plan), carried, wanted)


def _wanted(plan: DocumentQuery, most: int | None) -> int | None:
    """How many bindings of one pair are wanted at most; what a query publishes is not limited."""
    return None if plan.publish is not None else most


def _items(plan: DocumentQuery) -> tuple[FormItem, ...] | None:
    if plan.select is None:
        return None
    return tuple(FormItem(item.variable, item.path) for item in plan.select)
