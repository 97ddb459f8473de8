"""The node of searches whose results are single tuples: one term, or MAX 1 TUPLES.

    SEARCH 'quentin'                      every tuple with the term is a result, with its own life
    SEARCH 'vol 1' MAX 1 TUPLES           every tuple with both terms

Law: a tuple is a result of each query whose tables it is of and all of whose terms it contains. Without
state.

The step of single-tuple searches: tuples are matched with queries by a term of theirs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import IntArray
from seine.evaluate.data_columns import DataColumns
from seine.graph.node import NodesView, Signature
from seine.graph.parameter_table import ParameterTable
from seine.operators.search.growing_trees import TreeRows, tree_columns
from seine.operators.search.known_tuples import ID, KnownTuples
from seine.operators.search.searches import Searches
from seine.operators.search.watch import WatchNode
from seine.operators.search.watched_schema import TEXT
from seine.operators.state.working_nodes import AnyOutput, ArrivedDelta, HostFlow, Pushing, StatelessNode
from seine.rows.delta import data_names
from seine.rows.grouping import ranges


@dataclass(frozen=True)
class SpotNode(StatelessNode):
    """Tuples that are results by themselves, each with the tag of its query; `schema` as of a
    `SearchNode`.
    """

    kind = "spot"
    searches: int
    schema: int = 0

    def make_step(self, port: int, flow: HostFlow) -> SpotStep:
        watch = flow.nodes[self.inputs[0]]
        assert isinstance(watch, WatchNode)
        return SpotStep(self, watch, flow.tables[self.searches])

    @property
    def tables(self) -> tuple[int, ...]:
        return (self.searches,)

    def signature(self, standing: NodesView) -> Signature:
        return spot_signature(self.inputs[0])


def spot_signature(watch: int) -> Signature:
    return ("spot", watch)


class SpotStep:
    """Sends a tuple on once for each query of which it is a result."""

    def __init__(self, node: SpotNode, watch: WatchNode, table: ParameterTable) -> None:
        self._node = node.id
        self._searches = searches = Searches(table, watch.schema, 0, 1)
        self._by_term = (
            np.argsort(searches.words[:, 0], kind="stable") if searches.count else np.zeros(0, int)
        )
        self._first_terms = searches.words[self._by_term, 0] if searches.count else np.zeros(0, np.int64)

    def __call__(self, flow: Pushing[AnyOutput], arrived: ArrivedDelta, emission: AnyOutput) -> None:
        flow.push(self._node, arrived.each(self.spotted), emission)

    def spotted(self, batch: pa.RecordBatch, columns: DataColumns) -> pa.RecordBatch:
        """The results among tuples."""
        tuples = KnownTuples(self._searches, np.zeros(0, np.int64))
        numbers = tuples.numbers(batch.append_column(ID, pa.array(np.arange(batch.num_rows))))
        at, query = self._candidates(tuples, numbers)
        masks = tuples.masks(at, query)
        hits = (masks == self._searches.full[query]) & self._searches.takes(
            query, tuples.table[at], tuples.epoch[at]
        )
        at, query, masks = at[hits], query[hits], masks[hits]
        rows = batch.take(pa.array(at))
        nothing = np.zeros((len(at), 0), np.int64)
        alone = np.zeros((len(at), 1), np.int64)
        times = rows["_s"].to_numpy(), rows["_e"].to_numpy()
        whole = tuples.first[at], tuples.valid_from[at], tuples.valid_to[at]
        trees = TreeRows(
            query, *times, *whole, at[:, None], nothing, nothing, alone, alone == 0, masks[:, None]
        )
        data = tree_columns(trees, self._searches, np.arange(batch.num_rows), batch[TEXT])
        names = [name for name in batch.schema.names if name[0] == "_"]
        return pa.RecordBatch.from_arrays(
            [*(rows[name] for name in names), *data], [*names, *data_names(len(data))]
        )

    def _candidates(self, tuples: KnownTuples, numbers: IntArray) -> tuple[IntArray, IntArray]:
        """Pairs of a tuple and a query whose first term it has."""
        owners, terms = tuples.terms(numbers)
        low = np.searchsorted(self._first_terms, terms)
        high = np.searchsorted(self._first_terms, terms, "right")
        pieces = [(numbers[owners[row]], self._by_term[place]) for row, place in ranges(low, high)]
        if not pieces:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        return np.concatenate([piece[0] for piece in pieces]), np.concatenate([piece[1] for piece in pieces])
