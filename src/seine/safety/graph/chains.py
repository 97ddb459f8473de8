"""Explains the chained purge of a row in words: the punctuations that free it, step by step.

Cites: SAFETY 3.2 (chained purge)
"""

from __future__ import annotations

from collections.abc import Sequence

from seine.safety.graph.punctuation_graph import CLOCK, Closure, ClosureRule, ClosureStep, Graph

MOST_STEPS_SHOWN = 12  # of one chain; the others are counted


def chain_words(graph: Graph, columns: Sequence[Sequence[str]], closed: Closure) -> str:
    """What frees a row with this closure; `columns` are the names of each item's.

    >>> from seine.safety.graph.punctuation_graph import closure
    >>> from seine.safety.graph.punctuation_graph import PUNCTUATION, Closer, GraphItem
    >>> bid = GraphItem("bid", frozenset([0]), (Closer(frozenset([0]), PUNCTUATION, (1,)),))
    >>> graph = Graph((GraphItem("item", frozenset([0])), bid), 1)
    >>> names = [["itemid"], ["bidder", "itemid"]]
    >>> chain_words(graph, names, closure(graph, [0])), chain_words(graph, names, closure(graph, [1]))
    ('freed once bid punctuates itemid', 'never freed: item may send matches for ever')
    """
    expiring = next((step.item for step in closed.steps if graph.items[step.item].expires), None)
    if expiring is not None:
        steps = _steps_text(graph, columns, _needed(closed, expiring))
        return f"freed once {steps}, and what came of {graph.items[expiring].name} has expired"
    still = [item.name for number, item in enumerate(graph.items) if number not in closed.items]
    if still:
        return f"never freed: {_shortened(still)} may send matches for ever"
    return f"freed once {_steps_text(graph, columns, closed.steps)}"


def _steps_text(graph: Graph, columns: Sequence[Sequence[str]], steps: Sequence[ClosureStep]) -> str:
    said = []
    for step in steps:
        name = graph.items[step.item].name
        if step.by.kind == CLOCK:
            said.append(f"the watermark of {name} has passed")
        else:
            said.append(f"{name} punctuates {punctuated(columns[step.item], step.by.columns)}")
    return _shortened(said, ", then ")


def punctuated(names: Sequence[str], columns: Sequence[int]) -> str:
    """The columns of a scheme."""
    columns_text = ", ".join(names[column] for column in columns)
    return columns_text if len(columns) == 1 else f"({columns_text})"


def _shortened(words: list[str], between: str = ", ") -> str:
    more = len(words) - MOST_STEPS_SHOWN
    return between.join(words[:MOST_STEPS_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _needed(closed: Closure, goal: int) -> list[ClosureStep]:
    """The steps that one item's closing depends on, in their order."""
    needed, facts = {goal}, set[int]()
    for step in reversed(closed.steps):
        if step.item in needed:
            needed |= _givers(closed, step, facts)
    return [step for step in closed.steps if step.item in needed]


def _givers(closed: Closure, step: ClosureStep, facts: set[int]) -> set[int]:
    """The items that give what a step needs."""
    givers = set()
    ahead = list(step.by.needs)
    while ahead:
        fact = ahead.pop()
        if fact not in facts:
            facts.add(fact)
            cause = closed.causes[fact]
            if isinstance(cause, ClosureRule):
                ahead += cause.needs
            elif cause is not None:
                givers.add(cause)
    return givers
