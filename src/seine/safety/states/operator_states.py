"""The states of a query: what each operator holds, of which streams, and whether something frees it.

Cites: SAFETY 2.2 (Def 1), SAFETY 2.4 (Def 4)

The states of an XSCL query: documents that wait for others, and what frees them.

A join of documents within T frees a document T after its time. However long (INF), only a window frees it:
FOLLOWED BY keeps the documents of its left side, JOIN those of both sides. A right document of FOLLOWED BY
waits only until the left side's watermark has passed it. Punctuations are of columns and say nothing of
what is inside documents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

from seine.algebra.definitions import StreamDef
from seine.algebra.document_plan import PUBLISHED, DocumentJoin, DocumentQuery, blocks_of
from seine.algebra.event_windows import is_closing
from seine.algebra.functions.aggregate_calls import keeps_bounded_state
from seine.algebra.plan import (
    Aggregate,
    Distinct,
    Lookup,
    PartnerLookup,
    Plan,
    Scan,
    SetKind,
    SetOperation,
    UnionAll,
    walk,
)
from seine.algebra.rank_plan import Over, Partitioned, Rank
from seine.optimizer.block import Block
from seine.optimizer.fixed_frames import fixed_reach
from seine.safety.graph.build_graph import BlockGraph
from seine.safety.graph.punctuation_graph import chain_words, closure
from seine.safety.graph.purgeable import purgeable
from seine.safety.states.item_facts import Branch, Sources, emits_all_ends, groups_go
from seine.safety.states.runnable import GROUPED, JOINED, RESULTS, is_appended

_SET_STATES = {  # what is held of the left and of the right input
    SetKind.EXCEPT: ("rows of EXCEPT", "rows that EXCEPT takes away"),
    SetKind.EXCEPT_ALL: ("rows of EXCEPT ALL", "rows that EXCEPT ALL takes away"),
    SetKind.INTERSECT: ("rows of INTERSECT", "rows that INTERSECT compares"),
    SetKind.INTERSECT_ALL: ("rows of INTERSECT ALL", "rows that INTERSECT ALL compares"),
    SetKind.SEMI: ("rows that may find a partner", "pairs that show which rows have one"),
    SetKind.ANTI: ("rows that may lose their partners", "pairs that show which rows have one"),
}
PIPELINE_BREAKERS = (Aggregate, Distinct, UnionAll, SetOperation, Partitioned)


@dataclass(frozen=True)
class State:
    """What is held of some streams: `aliases` are those whose tuples stay if nothing frees it.

    `what` names it, `why` says what frees it, or why nothing does. `note`: why punctuations that could free
    it do not, if that is the reason.
    """

    what: str
    aliases: tuple[str, ...]
    freed: bool
    why: Callable[[], str] = field(compare=False)
    note: str = ""


def states_of(plan: Plan, sources: Sources) -> Iterator[State]:
    """Every state of a plan; the aliases of one are in the order of FROM."""
    block, graph = sources.block(plan)
    streams = [block.items[number] for number in graph.items]
    breakers = [item for item in streams if not isinstance(item, Scan)]
    yield from _held(plan, sources)
    for breaker in breakers:
        yield from _breaker_states(breaker, sources)
        for child in breaker.inputs:
            yield from states_of(child, sources)


def result_state(plan: Plan, sources: Sources) -> Iterator[State]:
    """What the changelog at the top of a query holds: results that may still end.

    Results that are combinations of lasting tuples never end, so they are emitted and not kept.
    """
    if not any(isinstance(part, PIPELINE_BREAKERS) for part in walk(plan)) or emits_all_ends(plan):
        return
    yield from _branch_results(plan, sources)


def _branch_results(plan: Plan, sources: Sources) -> Iterator[State]:
    block, graph = sources.block(plan)
    item = block.items[0]
    if len(block.items) == 1 and isinstance(item, UnionAll):
        for branch in item.inputs:
            yield from _branch_results(branch, sources)
        return
    expires = any(one.expires for one in graph.graph.items)
    if expires or not is_appended(block):
        small = all(_is_small(block.items[number], sources) for number in graph.items)
        words = partial(_result_words, expires, small)
        yield State("results", lasting(plan, sources), expires or small, words, RESULTS)


def _result_words(expires: bool, small: bool) -> str:
    if expires:
        return "freed by windows"
    return "there are never many" if small else "never freed: they may end at any time"


def _held(plan: Plan, sources: Sources) -> Iterator[State]:
    """What the joins of a block hold, and what waits for deletions.

    Punctuations free the rows of joins in which none can end early; in the others only windows do.
    """
    block, graph = sources.block(plan)
    joined, why_not = len(graph.items) > 1, sources.why_not_purged(plan)
    freed = (
        purgeable(graph.graph) if joined and why_not is None else [item.expires for item in graph.graph.items]
    )
    note = why_not or ("" if block.is_of_tables else JOINED)
    for place, (number, is_freed) in enumerate(zip(graph.items, freed, strict=True)):
        item = block.items[number]
        if isinstance(item, Scan):
            if joined or item.stream.retractable:
                words = partial(_tuple_words, block, graph, place, why_not)
                reason = "" if graph.graph.items[place].deletable else note
                yield State(item.alias, (item.alias,), is_freed, words, reason)
        elif joined:
            is_small = _is_small(item, sources)
            words = partial(_tuple_words, block, graph, place, why_not, is_small)
            yield State(
                f"{graph.graph.items[place].name} in a join",
                lasting(item, sources),
                is_freed or is_small,
                words,
                note,
            )


def _tuple_words(
    block: Block, graph: BlockGraph, place: int, why_not: str | None, is_small: bool = False
) -> str:
    """What frees the rows that a join holds of an item."""
    item = graph.graph.items[place]
    if item.expires:
        return "freed by its window"
    if is_small:
        return "there are never many"
    if item.deletable and isinstance(block.items[graph.items[place]], Scan):
        return "never freed: its tuples may be deleted at any time, and it has no window"
    if why_not is not None:
        return f"never freed: {why_not}"
    if item.deletable:
        return f"never freed: its rows may change at any time; {JOINED}"
    return chain_words(graph.graph, column_names(block, graph), closure(graph.graph, [place]))


def column_names(block: Block, graph: BlockGraph) -> list[list[str]]:
    """The names of the columns of each item of a graph."""
    return [[field.name for field in block.items[number].schema] for number in graph.items]


def _breaker_states(breaker: Plan, sources: Sources) -> Iterator[State]:
    """What an aggregate or a set operator holds."""
    leaves = [] if isinstance(breaker, UnionAll | PartnerLookup) else sources.leaves(breaker)
    freed = groups_go(leaves)
    few = all(leaf.is_finite for leaf in leaves)
    note = GROUPED if all(leaf.is_finished for leaf in leaves) else ""
    match breaker:
        case Aggregate(input, _, calls, _):
            appended = all(leaf.grouping.lasts for leaf in leaves)
            bounded = all(keeps_bounded_state(call, appended) for call in calls)
            freed = freed or (bounded and _is_small(breaker, sources))
            words = partial(_row_words, leaves, freed)
            yield State("groups", lasting(input, sources), freed, words, note)
        case Rank(input):
            freed = freed or _is_small(breaker, sources)
            words = partial(_row_words, leaves, freed)
            yield State("ranked rows", lasting(input, sources), freed, words, note)
        case Over(input):
            by_time, bounded = _frame_bounds(breaker, sources)
            freed = freed or by_time or bounded
            words = partial(_frame_words, leaves, freed, by_time)
            yield State("rows of frames", lasting(input, sources), freed, words, note)
        case Distinct(input):
            words = partial(_row_words, leaves, freed or few)
            yield State("distinct rows", lasting(input, sources), freed or few, words, note)
        case SetOperation(left, right, kind):
            few = few and kind in (SetKind.EXCEPT, SetKind.INTERSECT)  # others give a row many times
            words = partial(_except_words, leaves, freed, few, breaker.closes is not None)
            first, second = _SET_STATES[kind]
            yield State(first, lasting(left, sources), freed or few, words, note)
            yield State(second, lasting(right, sources), freed or few, words, note)


def _row_words(leaves: list[Branch], freed: bool) -> str:
    """What frees what is held for each group of the rows of some blocks."""
    if all(leaf.expires for leaf in leaves):
        return "freed by windows"
    if any(is_closing(key) for leaf in leaves for key in leaf.keys):
        return "freed once watermarks have passed the last time at which a row may come"
    explained = [leaf for leaf in leaves if freed or not leaf.is_finished]
    if freed and not all(leaf.is_finished for leaf in leaves):
        return "there are never many"
    chains = [
        chain_words(leaf.graph.graph, column_names(leaf.block, leaf.graph), leaf.closed) for leaf in explained
    ]
    return " and ".join(dict.fromkeys(chains)) or f"never freed: {GROUPED}"


def _frame_words(leaves: list[Branch], freed: bool, by_time: bool) -> str:
    if by_time and not groups_go(leaves):
        return "freed once watermarks have passed the time of a row and the reach of frames"
    return _row_words(leaves, freed)


def _except_words(leaves: list[Branch], freed: bool, few: bool, closes: bool) -> str:
    if all(leaf.expires for leaf in leaves):
        return "freed by windows"
    if closes:
        return "freed once watermarks have passed the last time at which a partner may come"
    if freed:
        return "freed when both inputs are closed or expired"
    return "there are never many" if few else "never freed: an input stays open, or one alone expires"


def _is_small(breaker: Plan, sources: Sources) -> bool:
    """Whether an aggregate has finitely many groups at any time, or a rank finitely many rows, of which it
    keeps no others: rows that may change it keeps all.
    """
    if not isinstance(breaker, Aggregate | Partitioned):
        return False
    branch = sources.branches(breaker)[0]
    by_few_values = all(map(branch.has_few_values, branch.keys[: len(breaker.keys)]))
    if isinstance(breaker, Aggregate):
        return by_few_values
    if all(_is_small(branch.block.items[number], sources) for number in branch.graph.items):
        return True
    appended = all(leaf.grouping.lasts for leaf in sources.leaves(breaker))
    return by_few_values and appended and isinstance(breaker, Rank) and breaker.keeps_few


def _frame_bounds(breaker: Over, sources: Sources) -> tuple[bool, bool]:
    """Whether the rows that frames keep go by time alone, and whether there are finitely many at any time.

    Frames of fixed values forget a row when it is out of reach: by time whatever its partition is, by rows
    when others have come to it, so that the last rows of each partition stay.
    """
    branch = sources.branches(breaker)[0]
    reach = fixed_reach(breaker, branch.block)
    few = all(map(branch.has_few_values, branch.keys[: len(breaker.keys)]))
    bounded = few and reach is not None and reach.is_bounded
    return reach is not None and reach.longest is not None, bounded or _is_small(breaker, sources)


def lasting(plan: Plan, sources: Sources) -> tuple[str, ...]:
    """The aliases of the streams whose tuples make rows that never expire."""
    if isinstance(plan, Scan):
        return () if plan.window is not None else (plan.alias,)
    if isinstance(plan, Lookup):
        return ()
    if isinstance(plan, SetOperation):
        lasts = not plan.kind.needs_right or lasting(plan.right, sources)
        return lasting(plan.left, sources) if lasts else ()
    if isinstance(plan, Aggregate | Distinct | PartnerLookup | UnionAll | Partitioned):
        return tuple(alias for child in plan.inputs for alias in lasting(child, sources))
    block, graph = sources.block(plan)
    if any(item.expires for item in graph.graph.items):
        return ()
    return tuple(alias for item in block.items for alias in lasting(item, sources))


def document_states(plan: DocumentQuery) -> Iterator[State]:
    """Every state of a query of documents, the outermost join first."""
    for join in _joins(plan):
        word = "FOLLOWED BY" if join.ordered else "JOIN"
        yield _waiting(f"documents left of {word}", _left_streams(join), join.within is not None)
        right = [join.right.input.stream]
        if join.ordered:
            aliases = (right[0].name,)
            yield State(f"documents right of {word}", aliases, True, lambda: "freed by the left's watermark")
        else:
            yield _waiting(f"documents right of {word}", right, join.within is not None)


def document_cure(plan: DocumentQuery) -> str:
    """The windows that would make a query safe, in one line; a length of time always does."""
    windows = []
    for join in _joins(plan):
        if join.within is None:
            sides = (
                [_left_streams(join)] if join.ordered else [_left_streams(join), [join.right.input.stream]]
            )
            windows += [side[0] for side in sides if all(stream.window is None for stream in side)]
    words = " and ".join(dict.fromkeys(map(_window_words, windows)))
    return f"declare {words}, or write a length of time instead of INF"


def _window_words(stream: StreamDef) -> str:
    is_published = stream.source is not None and stream.source.format == PUBLISHED
    return f"a WINDOW on {'a stream that makes ' if is_published else ''}{stream.name}"


def _waiting(what: str, streams: list[StreamDef], is_timed: bool) -> State:
    expires = any(stream.window is not None for stream in streams)
    words = (
        "freed when T has passed" if is_timed else "freed by windows" if expires else "never freed: T is INF"
    )
    aliases = tuple(dict.fromkeys(stream.name for stream in streams))
    return State(what, aliases, is_timed or expires, lambda: words)


def _joins(plan: DocumentQuery) -> Iterator[DocumentJoin]:
    operand = plan.input
    while isinstance(operand, DocumentJoin):
        yield operand
        operand = operand.left


def _left_streams(join: DocumentJoin) -> list[StreamDef]:
    return [block.input.stream for block in blocks_of(join.left)]
