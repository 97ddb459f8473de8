"""What stateless nodes do to a batch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.expressions import Column, Expression
from seine.evaluate.data_columns import DataColumns
from seine.evaluate.evaluate import evaluate
from seine.graph.nodes import MergeNode
from seine.rows.arrays import Ints
from seine.rows.delta import carried_names, data_names, identity_names


class Picked:
    """Some rows of a batch, gathered column by column when asked for."""

    def __init__(self, columns: DataColumns, rows: Ints) -> None:
        self._columns = columns
        self._rows = pa.array(rows)

    def __getitem__(self, index: int) -> pa.Array:
        return pc.take(self._columns[index], self._rows, boundscheck=False)


def computed(
    batch: pa.RecordBatch,
    columns: DataColumns,
    rows: Ints,
    expressions: Sequence[Expression],
    parameters: Sequence[pa.Array | None],
    tags: pa.Array | None = None,
) -> pa.RecordBatch:
    """Picked rows as a batch of computed columns, in front of them their tags if there are any."""
    names = carried_names(batch)
    copied = dict.fromkeys(f"c{e.index}" for e in expressions if isinstance(e, Column))
    taken = batch.select([*names, *copied]).take(
        pa.array(rows)
    )  # all at once, for that costs little more than one
    picked = Picked(columns, rows)
    values = [
        taken[f"c{e.index}"] if isinstance(e, Column) else evaluate(e, picked, len(rows), parameters)
        for e in expressions
    ]
    if tags is not None:
        values.insert(0, tags)
    system = taken.columns[: len(names)]
    return pa.RecordBatch.from_arrays(system + values, names + data_names(len(values)))


def merged(node: MergeNode, port: int, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Give the rows of one input the identity of the merged output: input and tag, then their own."""
    if not node.identities:
        return batch
    names = batch.schema.names
    identity = [batch[name] for name in names if name.startswith("_i")]
    tags = batch["c0"].to_numpy()
    parts = [pa.array(tags * len(node.ports) + port), *identity]
    parts += [pa.array(np.full(batch.num_rows, -1))] * (node.identities - len(parts))
    lives = [name for name in names if name[0] == "_" and not name.startswith("_i")]
    data = [name for name in names if name[0] == "c"]
    return pa.RecordBatch.from_arrays(
        [*(batch[name] for name in lives), *parts, *(batch[name] for name in data)],
        [*lives, *identity_names(node.identities), *data],
    )
