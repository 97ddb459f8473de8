"""The punctuation graph of a block: facts about combinations, what follows from them, and what they close.

A *fact* is something known of every combination that a given row can still be part of: that the
values of a class of equal columns are finitely many, or that they are bounded above. An *item* is
what rows come from; it is *closed* for the row when no further row of it can join. Three kinds of rules
connect them, and everything the check decides is reachability along them:

    a closed item gives facts       its rows are finitely many, so the values of its columns are
    facts imply facts               by conditions such as b.ts <= a.ts + 20
    facts close an item             a punctuation for each known value has come, or the watermark passed

A closer that needs one fact is an edge of the punctuation graph, one that needs several is a
generalised edge. Between the streams the classes of equal columns stand as nodes of their own: so
equalities are closed without writing out every pair, and the graph is as large as the query.

Cites: SAFETY 4.1 (Def 7), SAFETY 4.2 (Def 8)
Differs: SAFETY takes the equalities as written; here those that follow from them count too.

The closure of one row over the punctuation graph: chained purge, by schemes instead of punctuations.

From the facts that the row itself gives, closers fire and closed items give more facts, until nothing is
added. Each item is closed once and each fact derived once, so the work is linear in the graph.

Cites: SAFETY 3.2 (chained purge), SAFETY 4.2 (its generalisation, Def 9)

Which punctuations the joins of a block keep for good, because rows to come may always need them.

A punctuation is forgotten when no chain can have its values any more: for one of its columns every other
item with an equal one has punctuated the same, and holds no such row. So its scheme is *growing* if for each
of its columns some other item has no scheme within it. A punctuation with a LIFESPAN goes when it lapses, one
of values that are REUSED when the streams that it closes rows of have passed its end.

Only a scheme of which every column is compared with another item is listened to: others are never held.

Cites: SAFETY 5.1 (punctuation purgeability)

Explains the chained purge of a row in words: the punctuations that free it, step by step.

Cites: SAFETY 3.2 (chained purge)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

PUNCTUATION, CLOCK = "punctuation", "clock"


@dataclass(frozen=True)
class Closer:
    """A way to close an item: all facts of `needs` must be there.

    `kind` is PUNCTUATION (of the item's `columns`, a scheme) or CLOCK (the watermark of the item). A
    punctuation of values that are `reused` closes the item for rows from before it ends, and is needed no
    longer than such rows may come.
    """

    needs: frozenset[int]
    kind: str
    columns: tuple[int, ...]
    reused: bool = False


@dataclass(frozen=True)
class ClosureRule:
    """Facts that imply a fact."""

    needs: frozenset[int]
    gives: int


@dataclass(frozen=True)
class GraphItem:
    """What rows come from: its name, the facts its rows give, what closes it, how long rows stay.

    `expires`: a window ends the life of each row. `deletable`: a row may be deleted at any time, so
    it is held until it expires.
    """

    name: str
    gives: frozenset[int]
    closers: tuple[Closer, ...] = ()
    expires: bool = False
    deletable: bool = False


@dataclass(frozen=True)
class Graph:
    """Items, how many facts there are, rules between them, and what is given: facts about relations."""

    items: tuple[GraphItem, ...]
    facts: int
    rules: tuple[ClosureRule, ...] = ()
    given: frozenset[int] = frozenset()


@dataclass(frozen=True)
class ClosureStep:
    """An item that becomes closed, by what."""

    item: int
    by: Closer


Cause = int | ClosureRule | None  # of a fact: the item that gives it, the rule that implies it, or nothing


@dataclass(frozen=True)
class Closure:
    """The closed items, in the order in which they were closed, and why each fact is known."""

    steps: tuple[ClosureStep, ...]
    items: frozenset[int]
    causes: dict[int, Cause]


def closure(graph: Graph, items: Iterable[int] = (), facts: Iterable[int] = ()) -> Closure:
    """What is closed for a row that has tuples of `items` in it and for which `facts` are known besides."""
    return _Chase(graph).run(list(items), list(facts))


class _Chase:
    """One run of the rules, each watched by the number of facts that it still misses."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.waiting: dict[int, list[int]] = {}
        self.missing: list[int] = []
        self.heads: list[ClosureStep | ClosureRule] = []
        self.new_facts: deque[tuple[int, Cause]] = deque()
        self.steps: list[ClosureStep] = []
        for number, item in enumerate(graph.items):
            for closer in item.closers:
                self._watch(closer.needs, ClosureStep(number, closer))
        for rule in graph.rules:
            self._watch(rule.needs, rule)

    def _watch(self, needs: frozenset[int], head: ClosureStep | ClosureRule) -> None:
        for fact in needs:
            self.waiting.setdefault(fact, []).append(len(self.heads))
        self.missing.append(len(needs))
        self.heads.append(head)

    def run(self, items: list[int], facts: list[int]) -> Closure:
        closed = set(items)
        causes: dict[int, Cause] = {}
        self.new_facts += [(fact, None) for fact in (*self.graph.given, *facts)]
        self.new_facts += [(fact, item) for item in items for fact in self.graph.items[item].gives]
        self._fire([n for n, count in enumerate(self.missing) if not count], closed)
        while self.new_facts:
            fact, cause = self.new_facts.popleft()
            if fact not in causes:
                causes[fact] = cause
                self._fire(self._satisfied(fact), closed)
        return Closure(tuple(self.steps), frozenset(closed), causes)

    def _satisfied(self, fact: int) -> list[int]:
        """What misses nothing any more now that a fact is known."""
        ready = []
        for number in self.waiting.get(fact, ()):
            self.missing[number] -= 1
            if not self.missing[number]:
                ready.append(number)
        return ready

    def _fire(self, ready: list[int], closed: set[int]) -> None:
        for number in ready:
            head = self.heads[number]
            if isinstance(head, ClosureRule):
                self.new_facts.append((head.gives, head))
            elif head.item not in closed:
                closed.add(head.item)
                self.steps.append(head)
                self.new_facts += [(fact, head.item) for fact in self.graph.items[head.item].gives]


def finished(graph: Graph, closed: Closure) -> bool:
    """Whether a row with this closure can be part of nothing new, and its results are final.

    Either nothing new can come of any item, or of one whose rows expire: when those that came have
    expired, no combination is left, whatever the other items may still send.
    """
    if any(graph.items[number].expires for number in closed.items):
        return True
    return len(closed.items) == len(graph.items)


RELATION = -1  # among items: a relation that is looked up, which never punctuates


@dataclass(frozen=True)
class KeptScheme:
    """A scheme whose punctuations a join holds: of which item, and which items have to punctuate the same so
    that they go, as few as there are. If there are none, punctuations purge punctuations.
    """

    item: int
    closer: Closer
    missing: tuple[int, ...]


def kept_schemes(graph: Graph, looked_up: bool = False) -> Iterator[KeptScheme]:
    """The schemes that the joins of the items of a graph listen to.

    Where relations are `looked_up` a join sees neither which values they have nor that they are finite.

    >>> from seine.safety.graph.punctuation_graph import GraphItem
    >>> scheme = Closer(frozenset([0]), PUNCTUATION, (0,))
    >>> one = Graph((GraphItem("bid", frozenset([0]), (scheme,)), GraphItem("item", frozenset([0]))), 1)
    >>> [kept.missing for kept in kept_schemes(one)]
    [(1,)]
    >>> item = GraphItem("item", frozenset([0]), (scheme,))
    >>> both = Graph((GraphItem("bid", frozenset([0]), (scheme,)), item), 1)
    >>> [kept.missing for kept in kept_schemes(both)]
    [(), ()]
    """
    for number, item in enumerate(graph.items):
        for closer in item.closers:
            if closer.reused:
                yield KeptScheme(number, closer, ())
            elif closer.kind == PUNCTUATION:
                facts = sorted(closer.needs)
                alternatives = [_missing(graph, number, closer, fact, looked_up) for fact in facts]
                known = [missing for missing in alternatives if missing is not None]
                if len(known) == len(alternatives):
                    yield KeptScheme(number, closer, min(known, key=len))


def _missing(graph: Graph, sender: int, closer: Closer, fact: int, looked_up: bool) -> tuple[int, ...] | None:
    """The other items with a column and no scheme within this one's; None if no other has the column."""
    others = [number for number, item in enumerate(graph.items) if number != sender and fact in item.gives]
    if not others and fact not in graph.given:
        return None
    missing = [number for number in others if not _punctuates(graph, number, closer)]
    return (*missing, RELATION) if looked_up and fact in graph.given else tuple(missing)


def _punctuates(graph: Graph, number: int, closer: Closer) -> bool:
    """Whether an item has a scheme within another one."""
    schemes = [theirs for theirs in graph.items[number].closers if theirs.kind == PUNCTUATION]
    return any(theirs.needs <= closer.needs for theirs in schemes)


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
