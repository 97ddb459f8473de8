"""EXPLAIN of one query (its story): what it shares with whom and why, what subsumes its conditions.

All of it is read off the network: the rows of the tables that the query claims are its conditions.

Cites: ARGUS 4 (transitivity, join sharing), 5.1.3 (subsumption)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from seine.algebra.expressions import (
    Call,
    Expression,
    Literal,
    Parameter,
    columns_of,
    conjuncts,
    rewrite,
    shift_columns,
)
from seine.algebra.linear import WEIGHTED, without_weights
from seine.graph.node import Filter, FilteringNode, Node, SelectingNode
from seine.graph.snapshot import RowClaim, TagClaim
from seine.network.show.labels import Labels, parameters_of
from seine.network.show.wording import count, enumerate_names, plain_words
from seine.network.show.words_of import words_of
from seine.optimizer.canonical.atoms import Clause, PredicateSet
from seine.optimizer.canonical.canonicalise import canonicalise
from seine.optimizer.canonical.implies import clause_implies, implies

MOST_COMPARED = 2_000  # conditions of others that a condition is compared with


@dataclass(frozen=True)
class Chapter:
    """A node of the query, with what there is to say about the query there."""

    node: Node
    text: str
    says: tuple[str, ...]


@dataclass(frozen=True)
class _Condition:
    """One row of a filter: the condition and the queries that have it."""

    parts: tuple[Expression, ...]
    queries: tuple[str, ...]

    @cached_property
    def canonical(self) -> PredicateSet:
        return tuple(clause for part in self.parts for clause in canonicalise(part).clauses)


class Story:
    """What one query does in the network."""

    def __init__(self, labels: Labels, query: str) -> None:
        self._labels = labels
        self._network = labels.network
        self._query = query
        self._rows: dict[int, list[int]] = {}
        for claim in self._network.queries[query]:
            if isinstance(claim, RowClaim):
                self._rows.setdefault(claim.table, []).append(claim.number)

    @cached_property
    def nodes(self) -> list[Node]:
        return self._network.beneath(self._query)

    @cached_property
    def _delivering(self) -> set[int]:
        """The nodes whose rows end up in its records, or decide about them."""
        reached: set[int] = set()
        waiting = [node.id for node in self.nodes if node.is_delivery]
        while waiting:
            reached.add(waiting[-1])
            waiting += [i for i in self._network.nodes[waiting.pop()].inputs if i not in reached]
        return reached

    def headline(self) -> str:
        """How much of what it uses it shares, and what is there for it alone."""
        alone = [node for node in self.nodes if len(self._network.users(node.id)) == 1]
        unshared = ", ".join(f"#{node.id}" for node in alone) or "none"
        rows = [
            node
            for node in self.nodes
            if node not in alone
            for filter_, number in self._claimed(node)
            if not self._with_the_same(filter_, number)
        ]
        added = ", ".join(f"#{node.id}" for node in dict.fromkeys(rows))
        conditions = f"; its own conditions in shared nodes: {added}" if added else ""
        shared = len(self.nodes) - len(alone)
        return (
            f"query {self._query} shares {shared} of its {len(self.nodes)} nodes; "
            f"its own: {unshared}{conditions}"
        )

    def inferred(self) -> list[str]:
        """What follows from its conditions, and where it is used."""
        places: dict[str, list[int]] = {}
        for node in self.nodes:
            for part, names in self._inferred_at(node):
                places.setdefault(plain_words(part, names), []).append(node.id)
        return [
            f"{text}, used at {', '.join(f'#{i}' for i in dict.fromkeys(ids))}"
            for text, ids in places.items()
        ]

    def chapters(self) -> list[Chapter]:
        """Its nodes in the order in which its rows pass them."""
        return [Chapter(node, self._described(node), tuple(self._says(node))) for node in self.nodes]

    def _described(self, node: Node) -> str:
        """What a node does; of a delivery, how the records of this query are written."""
        return words_of(node).describe_for(node, self._rows, self._labels)

    def _says(self, node: Node) -> Iterator[str]:
        yield from words_of(node).story(node, self)
        if (node.reads_parts or node.group_columns is not None) and node.id not in self._delivering:
            yield "kept for queries of another age by the same rows, until they have come to share it"
        others = [name for name in self._network.users(node.id) if name != self._query]
        if others:
            yield f"shared with {enumerate_names(others)}: {words_of(node).reason}"
        else:
            yield "only for it"

    def about_conditions(self, node: Node) -> Iterator[str]:
        """Its conditions at a node, and how they compare with those of others."""
        for filter_, number in self._claimed(node):
            yield from self._about_condition(node, filter_, number)

    def other_readers(self, node: Node) -> str | None:
        """The other queries that read the same rows of a node's input by themselves; None if nobody does."""
        finer, queries = node.inputs[0], self._network.queries
        readers = [n for n in self._network.nodes.values() if finer in n.inputs and n.kind != node.kind]
        tags = {claim for claim in queries[self._query] if isinstance(claim, TagClaim)}
        names = dict.fromkeys(query for reader in readers for query in self._network.users(reader.id))
        others = [name for name in names if name != self._query and not tags.isdisjoint(queries[name])]
        return enumerate_names(others) if others else None

    def rows_of(self, table: int, alike: int) -> Iterator[tuple[tuple[Any, ...], str]]:
        """Its rows of a parameter table, each with the other queries that have one with the same first
        constants, so many of them, in words."""
        parameters = self._network.tables[table]
        for number in dict.fromkeys(self._rows.get(table, ())):
            row = tuple(parameters.rows[number])
            same = [at for at, other in parameters.rows.items() if tuple(other[:alike]) == row[:alike]]
            users = dict.fromkeys(name for at in same for name in parameters.claims[at])
            others = [name for name in users if name != self._query]
            yield row, enumerate_names(others) if others else ""

    @property
    def words(self) -> Labels:
        """The words of the whole network."""
        return self._labels

    # ---- conditions

    def _claimed(self, node: Node) -> Iterator[tuple[Filter, int]]:
        for filter_ in node.conditions:
            for number in dict.fromkeys(self._rows.get(filter_.table, ())):
                yield filter_, number

    def _about_condition(self, node: Node, filter_: Filter, number: int) -> Iterator[str]:
        what = words_of(node).passes
        wording = self._labels.condition(node, filter_, [number])
        if wording is None:
            yield f"it takes all {what}"
            return
        yield f"it takes {what} with {wording}"
        if isinstance(node, FilteringNode):
            yield from self._coverage(node, filter_, number)
        else:
            twins = self._with_the_same(filter_, number)
            if twins:
                yield f"the same rows as {enumerate_names(twins)}"

    def _with_the_same(self, filter_: Filter, number: int) -> list[str]:
        """The other queries whose condition is the same, whatever becomes of the rows."""
        table = self._network.tables[filter_.table]
        used = parameters_of(filter_.shape)
        same = [row for row in table if all(table.rows[row][i] == table.rows[number][i] for i in used)]
        return [query for row in same for query in table.claims[row] if query != self._query]

    def _coverage(self, node: FilteringNode, filter_: Filter, number: int) -> Iterator[str]:
        """Whose conditions let its rows pass already, and whose rows its own lets pass."""
        condition = self._condition(filter_, number)
        twins = [query for query in condition.queries if query != self._query]
        if twins:
            yield f"the same condition as {enumerate_names(twins)}"
        wider: list[_Condition] = []
        narrower: list[_Condition] = []
        for other in self._others(node, filter_, number):
            if implies(condition.canonical, other.canonical):
                wider.append(other)
            elif implies(other.canonical, condition.canonical):
                narrower.append(other)
        if wider:
            yield self._covered(node, condition, wider)
        elif not twins and len(self._network.users(node.id)) > 1:
            yield "nobody else's condition covers it: with it the node lets more pass"
        if narrower:
            names = dict.fromkeys(query for other in narrower for query in other.queries)
            yield f"it covers {enumerate_names(names)}"

    def _covered(self, node: Node, condition: _Condition, wider: Sequence[_Condition]) -> str:
        """Who has the nearest of the wider conditions, and what in it is wider."""
        nearest = max(wider, key=lambda other: len({*condition.parts} & {*other.parts}))
        others = {query for other in wider for query in other.queries} - {*nearest.queries}
        more = f", and for {count(len(others), 'other query', 'other queries')}" if others else ""
        reasons = self._weaker_parts(node, condition, nearest)
        reason = "; ".join(reasons) or ("it asks for less" if nearest.parts else "it takes all")
        on_top = "; its own are tested on top" if node.is_join else ""
        return f"they pass already for {enumerate_names(nearest.queries)} ({reason}){more}{on_top}"

    def _weaker_parts(self, node: Node, condition: _Condition, other: _Condition) -> list[str]:
        names, hidden = self._labels.names(node.id), {*self._labels.hidden(node.id)}
        return [
            f"{plain_words(theirs, names)} covers {plain_words(mine, names)}"
            for theirs in other.parts
            if theirs not in condition.parts and not hidden & columns_of(theirs)
            for mine in condition.parts
            if _part_implies(mine, theirs)
        ]

    def _others(self, node: FilteringNode, filter_: Filter, number: int) -> Iterator[_Condition]:
        left = MOST_COMPARED
        for other in node.filters:
            for row in self._network.tables[other.table]:
                if (other.table, row) != (filter_.table, number):
                    yield self._condition(other, row)
                    left -= 1
                if not left:
                    return

    def _condition(self, filter_: Filter, number: int) -> _Condition:
        table = self._network.tables[filter_.table]
        values = table.rows[number]

        def fill(e: Expression) -> Expression:
            if isinstance(e, Parameter):
                return Literal(values[e.index], e.type)
            return without_weights(e) if isinstance(e, Call) and e.name == WEIGHTED else e

        parts = tuple(rewrite(part, fill) for part in conjuncts(filter_.shape))
        return _Condition(parts, tuple(table.claims[number]))

    # ---- inference

    def _inferred_at(self, node: Node) -> Iterator[tuple[Expression, list[str]]]:
        """Conditions of a prefilter or join that the query does not state, over the row of the join."""
        if not isinstance(node, FilteringNode):
            return
        inside = words_of(node).drawn_with_reader
        join = next(n for n in self.nodes if node.id in n.inputs) if inside else node
        moved = join.first_column(0 if join is node else join.inputs.index(node.id))
        if moved is None:  # it keeps all its conditions to itself
            return
        stated = self._stated(join)
        names, hidden = self._labels.names(join.id), {*self._labels.hidden(join.id)}
        for filter_, number in self._claimed(node):
            for part in self._condition(filter_, number).parts:
                whole = shift_columns(part, lambda index: index + moved)
                if stated is not None and whole not in stated and not hidden & columns_of(whole):
                    yield whole, names

    def _stated(self, join: Node) -> set[Expression] | None:
        """All conditions of the block of a join: they stand where its rows leave it."""
        above: Node | None = join
        while above is not None and not isinstance(above, SelectingNode):
            above = next((n for n in self.nodes if self._first_input(n) == above.id), None)
        if above is None:
            return None
        return {part for f, number in self._claimed(above) for part in self._condition(f, number).parts}

    def _first_input(self, node: Node) -> int | None:
        return node.inputs[0] if node.inputs else None


def _part_implies(one: Expression, other: Expression) -> bool:
    a, b = _clauses(one), _clauses(other)
    shared = bool(columns_of(one) & columns_of(other))
    return shared and all(any(clause_implies(mine, theirs) for mine in a) for theirs in b)


def _clauses(part: Expression) -> tuple[Clause, ...]:
    return canonicalise(part).clauses
