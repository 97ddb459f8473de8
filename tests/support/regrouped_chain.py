"""Aggregates of which each is fed with the parts of a finer one, for tests of roll-up aggregation."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa

from seine.algebra.expressions import Column, shift_columns
from seine.algebra.plan import AggregateCall
from seine.graph.node import Port
from seine.operators.group.aggregate import AggregateNode, AggregateOperator
from seine.operators.state.store import MemoryStore
from seine.rows.clock import Clock
from seine.rows.delta import Delta, PartialAggregates
from seine.rows.hashing import hash_columns


class Chain:
    """Aggregates of which each is fed with the parts of the one before; tells what the last one tells."""

    def __init__(self, *nodes: AggregateNode) -> None:
        self._nodes = nodes
        self._operators = [AggregateOperator(one) for one in nodes]
        self._stores = [MemoryStore(bucket=i) for i in range(len(nodes) - 1)]

    def step(self, inputs: list[list[Delta]], clock: Clock, store: MemoryStore) -> Iterator[Delta]:
        stores = [*self._stores, store]
        for i, (operator, store_of) in enumerate(zip(self._operators, stores, strict=True)):
            deltas = list(operator.step(inputs, clock, store_of))
            store_of.head = json.loads(json.dumps(store_of.head))
            if store_of is store:
                yield from (delta for delta in deltas if isinstance(delta, Delta))
            else:
                key = self._nodes[i + 1].ports[0].key
                parts = [part.make(everything) for part in deltas if isinstance(part, PartialAggregates)]
                inputs = [[Delta(_routed(batch, key)) for batch in parts]]

    def state_rows(self, store: MemoryStore) -> int:
        return 0


def everything(keys: pa.RecordBatch) -> None:
    """All groups are wanted."""


def _routed(batch: pa.RecordBatch, key: tuple[Any, ...]) -> pa.RecordBatch:
    hashes = hash_columns([batch[f"c{column.index}"] for column in key], batch.num_rows)
    return pa.RecordBatch.from_arrays([pa.array(hashes), *batch.columns], ["_k", *batch.schema.names])


def behind(one: AggregateCall, width: int) -> AggregateCall:
    return replace(one, args=tuple(shift_columns(arg, lambda index: index + width) for arg in one.args))


def coarser(
    finer: tuple[Column, ...], keys: tuple[Column, ...], calls: tuple[AggregateCall, ...]
) -> AggregateNode:
    """An aggregate of the groups of finer keys; its calls are over their row."""
    port = Port(0, tuple(key.type for key in finer), ("a",), 0, tuple(over_key(finer, key) for key in keys))
    types = (*(key.type for key in keys), *(one.type for one in calls))
    return AggregateNode(
        9, (port,), types, tuple(range(len(types))), ("a",), ("a",), 1, 2, "", calls, regroups=True
    )


def over_key(finer: tuple[Column, ...], key: Column) -> Column:
    return Column(finer.index(key), key.type)
