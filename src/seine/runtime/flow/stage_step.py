"""One stage in one bucket: every stateful operator of a level takes one step."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple, Protocol, TypeAlias

import pyarrow as pa

from seine.graph.node import Node
from seine.operators.limited.limited_join import BudgetedJoin, LimitedOperator, step_together
from seine.operators.state.store import Store
from seine.operators.state.work_budget import NodeFault, first_fault
from seine.operators.state.working_nodes import GroupingOperator, Operator, PunctuatedOperator
from seine.rows.clock import Clock
from seine.rows.delta import Delta, DerivedPunctuations
from seine.runtime.flow.dataflow import Dataflow
from seine.runtime.flow.parcels import Emission, Parcel, decode
from seine.runtime.folder.segments import held_bytes
from seine.runtime.output.task_report import StageReport

Blob: TypeAlias = bytes | pa.Buffer


class BucketState(Protocol):
    """The state of all operators of one stage in one bucket."""

    def of(self, node_id: int) -> Store: ...

    def forget_except(self, node_ids: Iterable[int]) -> None:
        """Free the state of operators that are gone."""
        ...


def run_stage(
    flow: Dataflow,
    stage: int,
    bucket: int,
    blobs: Iterable[Blob],
    clock_of: Callable[[int], Clock],
    state: BucketState,
    out: Emission,
) -> StageReport:
    """Step every operator of the stage, in the order of their ids, and push what they yield.

    What they yield for nodes that are chained to them comes to these in the same turn. Joins that share a
    budget come last, together. A node at fault does not keep the others from their step,
    so that one try finds all of a stage that are; then the first fault is raised, with the others. `clock_of`
    gives event time as a node is to see it.
    """
    inputs = _Inputs(parcel for blob in blobs for parcel in decode(blob))
    nodes = list(flow.stateful(stage, bucket))
    state.forget_except(node.id for node in nodes)
    ran: list[_Turn] = []
    faults: list[NodeFault] = []
    for node in nodes:
        inputs.take(out.kept)
        turn = _turn(flow, node, inputs, state.of(node.id), out)
        if turn is not None:
            ran.append(turn)
            try:
                if not turn.together:
                    _step(flow, turn, clock_of(node.id), out)
            except NodeFault as fault:
                faults.append(fault)
                if fault.kind == "memory":
                    break
    if faults:
        raise first_fault(faults)
    budgeted = [turn for turn in ran if turn.together]
    if budgeted:
        _step_together(flow, budgeted, clock_of(budgeted[0].node.id), out)
    return _report(ran)


class _Turn(NamedTuple):
    """An operator that takes a step: what arrived for it, its state, and whether others step with it."""

    node: Node
    operator: Operator
    arrived: list[list[Delta]]
    store: Store
    together: bool


def _turn(flow: Dataflow, node: Node, inputs: _Inputs, store: Store, out: Emission) -> _Turn | None:
    """The turn of a node; None if there is nothing for it to do."""
    arrived = [inputs.of(node.id, port) for port in range(len(node.ports))]
    arrived += [
        inputs.of(listener.id, port) for listener in flow.listeners(node.id) for port in listener.receiving
    ]
    together = flow.budget is not None and node.budgeted
    if not (any(arrived) or store.head or node.steps_unasked or together):
        return None
    with out.meter.at(node.id):
        return _Turn(node, flow.operator(node), arrived, store, together)


def _step(flow: Dataflow, turn: _Turn, clock: Clock, out: Emission) -> None:
    """Step one operator."""
    number = turn.node.id
    step = partial(turn.operator.step, turn.arrived, clock, turn.store)
    for delta in out.meter.each(step, number):
        if isinstance(delta, DerivedPunctuations):
            flow.push(delta.node, Delta(delta.batch), out)
        else:
            flow.push(number, delta, out)


def _step_together(flow: Dataflow, turns: list[_Turn], clock: Clock, out: Emission) -> None:
    """Step the joins that share a budget."""
    if flow.budget is None or not turns:
        return
    members = []
    for turn in turns:
        assert isinstance(turn.operator, LimitedOperator)
        members.append(BudgetedJoin(turn.operator, turn.arrived, turn.store))
    nodes = [turn.node.id for turn in turns]
    for number, delta in out.meter.each(partial(step_together, members, clock, flow.budget), *nodes):
        flow.push(nodes[number], delta, out)


def _report(ran: Iterable[_Turn]) -> StageReport:
    report = StageReport({}, {}, [], {}, {}, {}, state_bytes={})  # its own containers: they are filled here
    for node, operator, _, store, _ in ran:
        report.state_rows[node.id] = operator.state_rows(store)
        report.state_bytes[node.id] = held_bytes(store.head)
        report.port_rows.update(_port_rows(node, operator, store))
        if isinstance(operator, GroupingOperator):
            report.group_rows[node.id] = operator.group_rows(store)
        if isinstance(operator, PunctuatedOperator):
            report.punctuation_rows[node.id] = operator.punctuation_rows(store)
        report.notices.extend(_take_notices(operator))
        if isinstance(operator, LimitedOperator):
            report.memory[node.id] = operator.account(store)
    return report


def _port_rows(node: Node, operator: object, store: Store) -> dict[int, list[int]]:
    """Rows held of each input, if the operator can tell them apart."""
    by_port = getattr(operator, "state_by_port", None)
    return {} if by_port is None else {node.id: list(by_port(store))}


def _take_notices(operator: object) -> list[str]:
    notices: list[str] = getattr(operator, "notices", [])
    taken = list(notices)
    notices.clear()
    return taken


class _Inputs:
    """What has arrived so far, by node and port."""

    def __init__(self, parcels: Iterable[Parcel]) -> None:
        self._deltas: dict[tuple[int, int], list[Delta]] = defaultdict(list)
        self._add(parcels)

    def take(self, kept: list[Parcel]) -> None:
        """Take in what nodes have yielded for those that are chained to them."""
        self._add(kept)
        kept.clear()

    def of(self, node: int, port: int) -> list[Delta]:
        return self._deltas.get((node, port), [])

    def _add(self, parcels: Iterable[Parcel]) -> None:
        for parcel in parcels:
            for target in parcel.targets:
                self._deltas[target].append(_delta(parcel))


def _delta(parcel: Parcel) -> Delta:
    if parcel.plus:
        return Delta(parcel.batch)
    rows = parcel.batch
    begun = rows.slice(0, 0).drop_columns(["_d"])
    return Delta(begun, rows)
