"""The paper's optimum, as the paper has it: list every memory state of a window, take the best path.

Algorithms 3.1 to 3.3 and functions 3.1 to 3.3. One tuple arrives in each stream at each instant, so
streams are lists: the tuple at place t arrives at t. The number of states grows exponentially.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf


@dataclass(frozen=True)
class StreamTuple:
    ts: int
    key: int
    importance: float


@dataclass(frozen=True)
class FactTuple:
    """A tuple of the relation: the key in each stream, and when it is active."""

    keys: tuple[int, int]
    begin: float = -1
    end: float = inf


@dataclass
class State:
    """A memory state: its tuples, the best importance of a path to it, and where that path came from."""

    tuples: frozenset[StreamTuple]
    importance: float
    previous: State | None


def optimum(
    streams: tuple[list[StreamTuple], list[StreamTuple]], facts: list[FactTuple], life: int, memory: int
) -> tuple[float, list[list[frozenset[StreamTuple]]]]:
    """The largest total importance, and the memory states along the best path of each window."""
    total = same_instant(streams, facts)
    paths = []
    for side in (0, 1):
        stop = compute_max_importance(streams, side, facts, life, memory // 2)
        total += stop.importance
        paths.append(states_before(stop))
    return total, paths


def compute_max_importance(
    streams: tuple[list[StreamTuple], list[StreamTuple]],
    side: int,
    facts: list[FactTuple],
    life: int,
    size: int,
) -> State:
    """Algorithm 3.1: the stop vertex of one window's graph."""
    tuples, opposite = streams[side], streams[1 - side]
    states = {frozenset(): State(frozenset(), 0.0, None)}
    for now in range(len(tuples)):
        qualified = find_qualified(opposite[now], 1 - side, facts) if now < len(opposite) else []
        new = tuples[now] if find_qualified(tuples[now], side, facts) else None
        following: dict[frozenset[StreamTuple], State] = {}
        for state in states.values():
            alive = frozenset(one for one in state.tuples if one.ts + life > now)
            for kept, admitted in successors(alive, new, size):
                weight = get_weight(kept, side, qualified)
                insert_state(State(admitted, state.importance + weight, state), following)
        states = following
    best = max(states.values(), key=lambda state: state.importance)
    return State(frozenset(), best.importance, best)


def successors(
    alive: frozenset[StreamTuple], new: StreamTuple | None, size: int
) -> list[tuple[frozenset[StreamTuple], frozenset[StreamTuple]]]:
    """Decisions 1 to 3: what is kept of the old tuples, and the state with the new one."""
    if new is None:
        return [(alive, alive)]
    if len(alive) < size:
        return [(alive, alive | {new})]
    replaced = [(alive - {one}, alive - {one} | {new}) for one in alive]
    return [(alive, alive), *replaced]


def insert_state(state: State, states: dict[frozenset[StreamTuple], State]) -> None:
    """Function 3.1: of equal states the one with the better path stays."""
    known = states.get(state.tuples)
    if known is None or state.importance > known.importance:
        states[state.tuples] = state


def get_weight(kept: frozenset[StreamTuple], side: int, qualified: list[tuple[FactTuple, float]]) -> float:
    """Function 3.2: the importance that the tuples kept make with the arrival of the other stream."""
    return sum(
        min(one.importance, importance)
        for one in kept
        for fact, importance in qualified
        if fact.keys[side] == one.key and fact.begin <= one.ts < fact.end
    )


def find_qualified(one: StreamTuple, side: int, facts: list[FactTuple]) -> list[tuple[FactTuple, float]]:
    """Function 3.3: the active relation tuples that a tuple matches, with its importance."""
    return [
        (fact, one.importance)
        for fact in facts
        if fact.begin <= one.ts < fact.end and fact.keys[side] == one.key
    ]


def same_instant(streams: tuple[list[StreamTuple], list[StreamTuple]], facts: list[FactTuple]) -> float:
    """Algorithm 3.2: what tuples of the same instant make, once for each relation tuple between them."""
    return sum(
        min(r.importance, s.importance)
        for r, s in zip(*streams, strict=False)
        for fact in facts
        if fact.begin <= r.ts < fact.end and fact.keys == (r.key, s.key)
    )


def states_before(stop: State) -> list[frozenset[StreamTuple]]:
    """Algorithm 3.3: the states on the path, the first one first."""
    collected = []
    state = stop.previous
    while state is not None and state.previous is not None:
        collected.append(state.tuples)
        state = state.previous
    return collected[::-1]
