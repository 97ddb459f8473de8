"""The states of a query: what each operator holds, of which streams, and whether something frees it.

Cites: SAFETY 2.2 (Def 1), SAFETY 2.4 (Def 4)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from seine.algebra.plan import Aggregate, Distinct, Except, Lookup, Plan, Scan, UnionAll
from seine.safety.purge import purgeable
from seine.safety.sources import Branch, Sources

CONSTANT = ("count_all", "count", "sum", "avg", "stddev", "stddev_samp", "stddev_pop")  # state a group


@dataclass(frozen=True)
class State:
    """What is held of some streams: `aliases` are those whose tuples stay if nothing frees it."""

    what: str
    aliases: tuple[str, ...]
    freed: bool


def states_of(plan: Plan, sources: Sources) -> Iterator[State]:
    """Every state of a plan; the aliases of one are in the order of FROM."""
    block, graph = sources.block(plan)
    streams = [block.items[number] for number in graph.items]
    fences = [item for item in streams if not isinstance(item, Scan)]
    yield from _held(plan, sources)
    for fence in fences:
        yield from _fence_states(fence, sources)
        for child in fence.inputs:
            yield from states_of(child, sources)


def result_state(plan: Plan, sources: Sources) -> Iterator[State]:
    """What the changelog at the top of a query holds: results that may still end."""
    block, graph = sources.block(plan)
    streams = [block.items[number] for number in graph.items]
    if any(isinstance(item, UnionAll) for item in streams) or (
        len(streams) > 1 and any(not isinstance(item, Scan) for item in streams)
    ):
        whole = sources.branch(plan)
        yield State("results", lasting(plan, sources), _rows_freed(whole))


def _held(plan: Plan, sources: Sources) -> Iterator[State]:
    """What the joins of a block hold, and what waits for deletions."""
    block, graph = sources.block(plan)
    joined = len(graph.items) > 1
    freed = purgeable(graph.graph) if joined else [item.expires for item in graph.graph.items]
    for number, is_freed in zip(graph.items, freed, strict=True):
        item = block.items[number]
        if isinstance(item, Scan):
            if joined or item.stream.retractable:
                yield State("tuples", (item.alias,), is_freed)
        elif joined:
            yield State("rows", lasting(item, sources), is_freed or _is_small(item, sources))


def _fence_states(fence: Plan, sources: Sources) -> Iterator[State]:
    """What an aggregate or a set operator holds."""
    branches = sources.branches(fence)
    match fence:
        case Aggregate(input, _, calls, _):
            constant = all(call.function in CONSTANT and not call.distinct for call in calls)
            freed = _rows_freed(branches[0], len(fence.keys)) or (constant and _is_small(fence, sources))
            yield State("groups", lasting(input, sources), freed)
        case Distinct(input):
            yield State("distinct rows", lasting(input, sources), _rows_freed(branches[0]))
        case Except(left, right):
            first, second = branches
            whole = range(len(fence.schema))
            both = first.is_finished(whole) and second.is_finished(whole)
            small = first.is_finite and second.is_finite
            yield State("rows", lasting(left, sources), first.expires or both or small)
            freed = second.expires or both or small or first.gone(whole)
            yield State("rows", lasting(right, sources), freed)


def _rows_freed(branch: Branch, keys: int | None = None) -> bool:
    """Whether what is held for each row, or for each group of keys, goes: nothing can change it any more."""
    whole = range(len(branch.columns) if keys is None else keys)
    return branch.expires or branch.is_finished(whole) or (keys is None and branch.is_finite)


def _is_small(fence: Plan, sources: Sources) -> bool:
    """Whether an aggregate has finitely many groups at any time."""
    if not isinstance(fence, Aggregate):
        return False
    branch = sources.branches(fence)[0]
    facts = branch.closed([]).causes
    keys = branch.columns[: len(fence.keys)]
    return all(column is not None and branch.graph.known.get(column) in facts for column in keys)


def lasting(plan: Plan, sources: Sources) -> tuple[str, ...]:
    """The aliases of the streams whose tuples make rows that never expire."""
    if isinstance(plan, Scan):
        return () if plan.stream.window is not None else (plan.alias,)
    if isinstance(plan, Lookup):
        return ()
    if isinstance(plan, Except):
        return lasting(plan.left, sources)
    if isinstance(plan, Aggregate | Distinct | UnionAll):
        return tuple(alias for child in plan.inputs for alias in lasting(child, sources))
    block, graph = sources.block(plan)
    if any(item.expires for item in graph.graph.items):
        return ()
    return tuple(alias for item in block.items for alias in lasting(item, sources))
