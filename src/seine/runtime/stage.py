"""One stage in one bucket: every stateful operator of a level takes one step."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple, Protocol, TypeAlias

import pyarrow as pa

from seine.network.nodes import AggregateNode, Node
from seine.operators.clock import Clock
from seine.operators.delta import Delta
from seine.operators.star.limited import LimitedOperator
from seine.operators.store import Store
from seine.runtime.dataflow import Dataflow
from seine.runtime.emission import Emission
from seine.runtime.parcels import Parcel, decode

Blob: TypeAlias = bytes | pa.Buffer


class BucketState(Protocol):
    """The state of all operators of one stage in one bucket."""

    def of(self, node_id: int) -> Store: ...

    def forget_except(self, node_ids: Iterable[int]) -> None:
        """Free the state of operators that are gone."""
        ...


class StageReport(NamedTuple):
    """What a stage tells of itself: rows held for joins by node, of each input apart (`node/port`) where
    that is known, and what its operators noticed."""

    state_rows: dict[int, int]
    state_parts: dict[str, int]
    notices: list[str]
    memory: dict[int, dict[str, int]]  # what joins within a memory have come to so far, by node


def run_stage(
    flow: Dataflow,
    stage: int,
    bucket: int,
    blobs: Iterable[Blob],
    clock: Clock,
    state: BucketState,
    out: Emission,
) -> StageReport:
    """Step every operator of the stage, in the order of their ids, and push what they yield."""
    inputs = _by_node(blobs)
    nodes = list(flow.stateful(stage, bucket))
    state.forget_except(node.id for node in nodes)
    held: dict[int, int] = {}
    parts: dict[str, int] = {}
    notices: list[str] = []
    memory: dict[int, dict[str, int]] = {}
    for node in nodes:
        store = state.of(node.id)
        arrived = [inputs.get((node.id, port), []) for port in range(len(node.ports))]
        if not any(arrived) and not store.head and not _speaks_first(node):
            continue
        operator = flow.operator(node)
        for delta in operator.step(arrived, clock, store):
            flow.push(node.id, delta, out)
        held[node.id] = operator.state_rows(store)
        parts.update(_parts(node, operator, store))
        notices += _take_notices(operator)
        if isinstance(operator, LimitedOperator):
            memory[node.id] = operator.account(store)
    return StageReport(held, parts, notices, memory)


def _speaks_first(node: Node) -> bool:
    """An aggregate without keys has a row before anything arrives."""
    return isinstance(node, AggregateNode) and not node.ports[0].key


def _parts(node: Node, operator: object, store: Store) -> dict[str, int]:
    by_port = getattr(operator, "state_by_port", None)
    if by_port is None:
        return {}
    return {f"{node.id}/{port}": rows for port, rows in enumerate(by_port(store)) if rows}


def _take_notices(operator: object) -> list[str]:
    notices: list[str] = getattr(operator, "notices", [])
    taken = list(notices)
    notices.clear()
    return taken


def _by_node(blobs: Iterable[Blob]) -> dict[tuple[int, int], list[Delta]]:
    inputs: dict[tuple[int, int], list[Delta]] = defaultdict(list)
    for blob in blobs:
        for parcel in decode(blob):
            for target in parcel.targets:
                inputs[target].append(_delta(parcel))
    return inputs


def _delta(parcel: Parcel) -> Delta:
    if parcel.plus:
        return Delta(parcel.batch)
    rows = parcel.batch
    begun = rows.slice(0, 0).drop_columns(["_d"])
    return Delta(begun, rows)
