"""Join processing by templates: for each template one conjunctive query over state and arriving documents.

For arriving documents W and state S, with R_T of each template T:

    R_outT = CQ_T(S, W, R_T), cut by the window check        the answers of all queries of T

Nothing is shared between templates: the equal strings of held and arriving documents are joined for each
anew.

Cites: MMQJP 4.2 (Algorithm 1)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from benchmarks.template_engines.conjunctive_query import ConjunctiveQuery, JoinedNodes
from benchmarks.template_engines.join_state import JoinState
from benchmarks.template_engines.partial_bindings import PartialBindings, concatenate
from benchmarks.template_engines.result_relation import ResultRelation
from benchmarks.template_engines.template_relation import TemplateRelation
from benchmarks.template_engines.window_check import within_window
from benchmarks.template_engines.witness_index import WitnessIndex
from benchmarks.template_engines.witness_relations import DocumentBatch
from seine.algebra.arrays import BoolArray
from seine.rows.grouping import ranges


class TemplateEngine:
    """Algorithm 1 over batches of documents: `hold` takes one into the state, `match` finds its results."""

    def __init__(self, relations: Sequence[TemplateRelation]) -> None:
        self.queries = [ConjunctiveQuery(relation) for relation in relations]
        self.codes = 1 + max(int(relation.pairs.max()) for relation in relations)
        self.state = JoinState(max(relation.widest for relation in relations))

    def hold(self, batch: DocumentBatch) -> WitnessIndex:
        """Take a batch into the state; returns R_binW and R_docW, indexed."""
        return self.state.hold(batch)

    def match(self, arriving: WitnessIndex) -> list[ResultRelation]:
        """R_outT of each template that has results: of pairs whose right document is arriving."""
        held = self.state.index
        assert held is not None, "a batch is held before it is matched"
        results = []
        for query in self.queries:
            joined = _joined_nodes(held, arriving, query, query.first_pairs(self.codes))
            results += checked(query, held, query.evaluate(joined, held, arriving))
        return results


def checked(
    query: ConjunctiveQuery, held: WitnessIndex, pieces: Iterator[PartialBindings]
) -> list[ResultRelation]:
    """Complete bindings within the windows of their rows: one relation, or none if there is no result."""
    kept = []
    for piece in pieces:
        windows = query.relation.windows[piece.row]
        kept.append(piece.take(np.flatnonzero(within_window(held, piece.left, piece.right, windows))))
    if not any(map(len, kept)):
        return []
    return [ResultRelation.of(query.relation, concatenate(kept))]


def _joined_nodes(
    held: WitnessIndex,
    arriving: WitnessIndex,
    query: ConjunctiveQuery,
    wanted: tuple[BoolArray, BoolArray],
) -> Iterator[JoinedNodes]:
    """R_doc, R_docW, R_bin and R_binW joined: the first value join of a template, in pieces."""
    ours, theirs = held.by_string, arriving.by_string
    reach = held.reach(theirs.document, query.relation.widest)
    for owners, places in ranges(*held.string_order.between(theirs.string, *reach), query.most_pairs):
        left, right = ours.take(places), theirs.take(owners)
        above, left_pair, left_parent = held.parents(left.document, left.node)
        kept = np.flatnonzero(wanted[0][left_pair])
        above, left_pair, left_parent = above[kept], left_pair[kept], left_parent[kept]
        left, right = left.take(above), right.take(above)
        above, right_pair, right_parent = arriving.parents(right.document, right.node)
        kept = np.flatnonzero(wanted[1][right_pair])
        above, right_pair, right_parent = above[kept], right_pair[kept], right_parent[kept]
        yield JoinedNodes(
            left.document[above],
            left_pair[above],
            left_parent[above],
            left.node[above],
            right.document[above],
            right_pair,
            right_parent,
            right.node[above],
            left.string[above],
        )
