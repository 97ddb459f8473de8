"""The node of a join of two inputs on equal keys.

    SELECT ... FROM bid b JOIN item i ON b.itemid = i.itemid WHERE b.price > 2 * i.price

    left rows ─── prefilter ─┐
                             join (itemid = itemid, filters over the pair) ─── pairs
    right rows ── prefilter ─┘
    punctuations of either ──┘   purge what no partner can come for

Its operator is `join.py`.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from seine.algebra.expressions import Expression, shift_columns
from seine.graph.node import Family, FilteringNode, NodesView, Signature
from seine.graph.node_words import BoxContent, ColumnWords, NodeWords, RowPart
from seine.operators.join.derived_punctuations import DerivedPunctuationsNode, derived_punctuations_of
from seine.operators.join.final_time import FinalTime
from seine.operators.join.join import JoinOperator
from seine.operators.join.join_words import describe_equalities, join_box_lines, sides_read
from seine.operators.join.purge_rule import PurgeRule
from seine.operators.join.settled_rows import settling_of
from seine.operators.join.time_bounds import reaches
from seine.operators.match.filters import any_of
from seine.operators.step.working_nodes import HostFlow, StatefulNode


@dataclass(frozen=True)
class JoinNode(FilteringNode, StatefulNode):
    """Joins two inputs on their ports' keys (equal and not NULL).

    Filters and `out` address the left row followed by the right. A row of the output lives where both live;
    its identity is the left's followed by the right's. Its first two ports are its inputs; each further one
    brings punctuations, and has a purge rule that says what they are about. A lazy join lets punctuations
    gather before it frees what they finish, `purge_batch` of them if that is not 0. `times` are the places of
    the columns in which a side's rows have their start, None where they have more than one tuple of a stream.
    Joins that differ in their `generation` alone do the same, but the older had run when a reader first asked
    for its derived punctuations. `rising` are, of each side, columns whose earlier values the watermark makes
    final: by them rows of groups and set operators, and what is joined with these, are freed. Where rows may
    end early, punctuations are of streams beneath the sides: a purge rule's `side` is the number of the
    stream, first those of the left side, and `punctuators` says how many each side has.
    """

    kind = "join"
    reason = "same join"
    passes = "pairs"
    is_join = True
    drops_null_keys = True
    tint = "#e8710a"
    pile_level = 3
    purges: tuple[PurgeRule, ...] = ()
    lazy: bool = False
    purge_batch: int = 0
    times: tuple[int | None, int | None] = (None, None)
    generation: int = 0
    rising: tuple[tuple[FinalTime, ...], tuple[FinalTime, ...]] = ((), ())
    punctuators: tuple[int, int] = (0, 0)

    def make_operator(self, flow: HostFlow) -> JoinOperator:
        filters, derived = any_of(self.filters, flow.tables), derived_punctuations_of(self.id, flow)
        settling = settling_of(self, flow.tables)
        return JoinOperator(self, filters, reaches(self, flow.tables), derived, flow.buckets, settling)

    def signature(self, standing: NodesView) -> Signature:
        left, right = self.ports[:2]
        inputs = self._inputs_joined(standing)
        listens = any(isinstance(standing.nodes[i], DerivedPunctuationsNode) for i in self.inputs[2:])
        return join_signature(*inputs, left.key, right.key, self.owner, listens, self.generation)

    @property
    def partition_keys(self) -> tuple[frozenset[Expression], ...]:
        left, right = self.ports[:2]
        behind = [shift_columns(part, lambda place: place + len(left.types)) for part in right.key]
        return tuple(map(frozenset, zip(left.key, behind, strict=True)))

    def family(self, standing: NodesView) -> Family:
        return join_family(*self._inputs_joined(standing))

    def describe(self, words: NodeWords) -> str:
        left, right = self.ports[:2]
        return describe_equalities(self, (left.key, right.key), self.first_column(1), words)

    def row_parts(self, words: ColumnWords) -> tuple[RowPart, ...]:
        return words.row_parts(self.inputs[0]) + words.row_parts(self.inputs[1])

    def undecided(self, conjuncts: list[Expression]) -> list[Expression]:
        width = self.first_column(1)
        return [part for part in conjuncts if sides_read(part, width) >= 2] or conjuncts

    def first_column(self, port: int) -> int:
        return sum(len(before.types) for before in self.ports[:port])

    def box_lines(self, box: BoxContent) -> tuple[str, str]:
        return join_box_lines(box)

    def _inputs_joined(self, standing: NodesView) -> tuple[int, int]:
        return standing.beneath_prefilter(self, 0), standing.beneath_prefilter(self, 1)


def join_signature(
    left: int,
    right: int,
    left_key: Hashable,
    right_key: Hashable,
    owner: str,
    listens: bool = False,
    generation: int = 0,
) -> Signature:
    """One that listens to the derived punctuations of a join beneath it frees more than one that does not."""
    return ("join", left, right, left_key, right_key, owner, listens, generation)


def join_family(left: int, right: int) -> Family:
    """The joins of the rows of one node with those of another, whatever their keys."""
    return Family(("joins", left, right))
