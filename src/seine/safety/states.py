"""The states of a query: what each operator holds, of which streams, and whether something frees it.

Cites: SAFETY 2.2 (Def 1), SAFETY 2.4 (Def 4)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

from seine.algebra.plan import Aggregate, Distinct, Except, Lookup, Plan, Scan, UnionAll
from seine.safety.block import Block
from seine.safety.building import BlockGraph
from seine.safety.chains import chain_words
from seine.safety.closure import closure, finished
from seine.safety.purge import purgeable
from seine.safety.sources import Branch, Sources

CONSTANT = ("count_all", "count", "sum", "avg", "stddev", "stddev_samp", "stddev_pop")  # state a group


@dataclass(frozen=True)
class State:
    """What is held of some streams: `aliases` are those whose tuples stay if nothing frees it.

    `what` names it, `why` says what frees it, or why nothing does.
    """

    what: str
    aliases: tuple[str, ...]
    freed: bool
    why: Callable[[], str] = field(compare=False)


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
    """What the changelog at the top of a query holds: results that may still end.

    They end when a row in them does, so they are final once the groups and rows in them are.
    """
    block, graph = sources.block(plan)
    pairs = [(block.items[number], item) for number, item in zip(graph.items, graph.graph.items, strict=True)]
    fences = [(plan, item) for plan, item in pairs if not isinstance(plan, Scan)]
    if any(isinstance(fence, UnionAll) for fence, _ in fences) or (len(pairs) > 1 and fences):
        expires = any(item.expires for _, item in pairs)
        final = all(item.closers for _, item in fences) and not any(item.deletable for _, item in pairs)
        words = partial(_result_words, expires, final)
        yield State("results", lasting(plan, sources), expires or final, words)


def _result_words(expires: bool, final: bool) -> str:
    if expires:
        return "freed by windows"
    return "freed once what they are made of is final" if final else "never freed: they may end at any time"


def _held(plan: Plan, sources: Sources) -> Iterator[State]:
    """What the joins of a block hold, and what waits for deletions."""
    block, graph = sources.block(plan)
    joined = len(graph.items) > 1
    freed = purgeable(graph.graph) if joined else [item.expires for item in graph.graph.items]
    for place, (number, is_freed) in enumerate(zip(graph.items, freed, strict=True)):
        item = block.items[number]
        if isinstance(item, Scan):
            if joined or item.stream.retractable:
                yield State(item.alias, (item.alias,), is_freed, partial(_tuple_words, block, graph, place))
        elif joined:
            is_small = _is_small(item, sources)
            words = partial(_tuple_words, block, graph, place, is_small)
            yield State(
                f"rows of {graph.graph.items[place].name}",
                lasting(item, sources),
                is_freed or is_small,
                words,
            )


def _tuple_words(block: Block, graph: BlockGraph, place: int, is_small: bool = False) -> str:
    """What frees the rows that a join holds of an item."""
    item = graph.graph.items[place]
    if item.expires:
        return "freed by its window"
    if is_small:
        return "there are never many"
    if item.deletable:
        return "never freed: its tuples may be deleted at any time, and it has no window"
    return chain_words(graph.graph, column_names(block, graph), closure(graph.graph, [place]))


def column_names(block: Block, graph: BlockGraph) -> list[list[str]]:
    """The names of the columns of each item of a graph."""
    return [[field.name for field in block.items[number].schema] for number in graph.items]


def _row_words(branch: Branch, freed: bool, keys: int | None = None) -> str:
    """What frees what is held for each row of a result, or for each group."""
    if branch.expires:
        return "freed by windows"
    graph = branch.graph
    whole = range(len(branch.columns) if keys is None else keys)
    found = branch.closed(whole)
    if freed and not finished(graph.graph, found):
        return "there are never many"
    return chain_words(graph.graph, column_names(branch.block, graph), found)


def _fence_states(fence: Plan, sources: Sources) -> Iterator[State]:
    """What an aggregate or a set operator holds."""
    branches = sources.branches(fence)
    match fence:
        case Aggregate(input, _, calls, _):
            constant = all(call.function in CONSTANT and not call.distinct for call in calls)
            keys = len(fence.keys)
            freed = _rows_freed(branches[0], keys) or (constant and _is_small(fence, sources))
            words = partial(_row_words, branches[0], freed, keys)
            yield State("groups", lasting(input, sources), freed, words)
        case Distinct(input):
            freed = _rows_freed(branches[0])
            words = partial(_row_words, branches[0], freed)
            yield State("distinct rows", lasting(input, sources), freed, words)
        case Except(left, right):
            first, second = branches
            whole = range(len(fence.schema))
            both = first.is_finished(whole) and second.is_finished(whole)
            small = first.is_finite and second.is_finite
            freed = first.expires or both or small
            words = partial(_except_words, freed)
            yield State("rows of EXCEPT", lasting(left, sources), freed, words)
            freed = second.expires or both or small or first.gone(whole)
            words = partial(_except_words, freed)
            yield State("rows that EXCEPT takes away", lasting(right, sources), freed, words)


def _except_words(freed: bool) -> str:
    return "freed when both inputs are closed or expired" if freed else "never freed: an input stays open"


def _rows_freed(branch: Branch, keys: int | None = None) -> bool:
    """Whether what is held for each row, or for each group of keys, goes: nothing can change it any more."""
    whole = range(len(branch.columns) if keys is None else keys)
    return branch.expires or branch.is_finished(whole) or (keys is None and branch.is_finite)


def _is_small(fence: Plan, sources: Sources) -> bool:
    """Whether an aggregate has finitely many groups at any time."""
    if not isinstance(fence, Aggregate):
        return False
    branch = sources.branches(fence)[0]
    return all(branch.is_given(column) for column in branch.columns[: len(fence.keys)])


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
