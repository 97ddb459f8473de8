"""The node of a multi-way join (MJoin) of three inputs or more.

    SELECT ... FROM a JOIN b ON a.x = b.x JOIN c ON b.y = c.y

    a rows ──┐
    b rows ──┼─ multijoin (group 0: a.x = b.x, group 1: b.y = c.y) ─── combinations
    c rows ──┤
    punctuations, one port for each scheme that is listened to

It is used where what may be purged depends on all inputs together, which no tree of joins of two can see.

Cites: SAFETY 3.2 (MJoin)
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from seine.algebra.expressions import Expression, columns_of
from seine.algebra.types import Type
from seine.graph.node import FilteringNode, NodesView, Signature
from seine.graph.node_words import BoxContent, ColumnWords, NodeWords, RowPart
from seine.operators.join.derived_punctuations import derived_punctuations_of
from seine.operators.join.join_words import join_box_lines, shifted
from seine.operators.match.filters import any_of
from seine.operators.multi_join.multi_join import MultiJoinOperator
from seine.operators.multi_join.multi_time_bounds import bounds_of
from seine.operators.step.working_nodes import HostFlow, StatefulNode

NO_START_COLUMN = -1  # among columns of starts: a row of several tuples has none


@dataclass(frozen=True)
class Member:
    """The value that the rows of a port have in one group of equal values."""

    port: int
    group: int
    expression: Expression


@dataclass(frozen=True)
class Punctuated:
    """What a port of punctuations is about: the rows of a port, by the groups that its columns belong to.

    If the values are reused, `partners` are the ports for which they begin anew: rows of the port that come
    after the end of a punctuation join no row of theirs that began before it. With `gathers` they are sent by
    every bucket of a join beneath, and count when all buckets have sent them.
    """

    port: int
    groups: tuple[int, ...]
    partners: tuple[int, ...] = ()
    gathers: bool = False


@dataclass(frozen=True)
class Static:
    """A relation that takes part in a join like an input of which everything has come."""

    relation: str
    types: tuple[Type, ...]


@dataclass(frozen=True)
class MultiJoinNode(FilteringNode, StatefulNode):
    """Joins many inputs at once: what is purged depends on all of them together.

    The first `width` ports bring rows, the others punctuations, each described by one of `punctuated`.
    Relations of `statics` count as ports behind the first ones. Rows are combined where members of one group
    are equal (and not NULL). Filters and `out` address the rows of the first ports, then of relations, side
    by side. No row can end early. `times` are the columns in which rows of the first ports have their start,
    NO_START_COLUMN where rows are of several tuples. `generation` is as of a join of two.
    """

    kind = "multijoin"
    reason = "same join"
    passes = "combinations"
    is_join = True
    drops_null_keys = True
    tint = "#e8710a"
    pile_level = 3
    width: int
    members: tuple[Member, ...]
    punctuated: tuple[Punctuated, ...]
    times: tuple[int, ...]
    statics: tuple[Static, ...] = ()
    lazy: bool = False
    purge_batch: int = 0
    generation: int = 0

    def make_operator(self, flow: HostFlow) -> MultiJoinOperator:
        return MultiJoinOperator(
            self,
            any_of(self.filters, flow.tables),
            bounds_of(self, flow.tables),
            [flow.relations.tuples(static.relation) for static in self.statics],
            derived=derived_punctuations_of(self.id, flow),
            buckets=flow.buckets,
        )

    @property
    def row_types(self) -> tuple[tuple[Type, ...], ...]:
        """The types of what stands side by side in a row."""
        return (
            *(port.types for port in self.ports[: self.width]),
            *(static.types for static in self.statics),
        )

    def signature(self, standing: NodesView) -> Signature:
        inputs = [standing.beneath_prefilter(self, port) for port in range(len(self.ports))]
        return multi_join_signature(
            inputs, self.members, self.punctuated, self.statics, self.owner, self.generation
        )

    def describe(self, words: NodeWords) -> str:
        names = words.names(self.id)
        groups: dict[int, list[str]] = {}
        for member in self.members:
            over_row = shifted(member.expression, self.first_column(member.port))
            groups.setdefault(member.group, []).append(words.plain(over_row, names))
        equal = " AND ".join(" = ".join(members) for members in groups.values())
        return f"{words.legend(self.id)} on {equal}"

    def row_parts(self, words: ColumnWords) -> tuple[RowPart, ...]:
        rows = [part for i in self.inputs[: self.width] for part in words.row_parts(i)]
        relations = [words.relation_part(static.relation, len(static.types)) for static in self.statics]
        return (*rows, *relations)

    def undecided(self, conjuncts: list[Expression]) -> list[Expression]:
        firsts = [self.first_column(port) for port in range(len(self.row_types))]
        rows_read = ({bisect_right(firsts, index) for index in columns_of(part)} for part in conjuncts)
        return [part for part, read in zip(conjuncts, rows_read, strict=True) if len(read) > 1] or conjuncts

    def first_column(self, port: int) -> int:
        return sum(map(len, self.row_types[:port]))

    def box_lines(self, box: BoxContent) -> tuple[str, str]:
        return join_box_lines(box)


def multi_join_signature(
    inputs: Sequence[int],
    members: Hashable,
    punctuated: Hashable,
    statics: Hashable,
    owner: str,
    generation: int = 0,
) -> Signature:
    return ("multijoin", tuple(inputs), members, punctuated, statics, owner, generation)
