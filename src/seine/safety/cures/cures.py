"""The smallest additions to the declarations of streams that make a query safe.

An addition is a punctuation scheme of one column, a scheme whose punctuations no longer lapse, or a window.
Schemes come before windows: a scheme changes no answer, a window does. Every set that is returned was judged.

Of additions of which more never free less, a set that does not heal gives a *cut*: additions of which every
cure has one, as all others together do not heal. The smallest set that hits all cuts so far is tried, and
heals or gives another cut; the first that heals is a smallest cure. When that takes too long, a set that
hits all cuts, or all additions, are taken, and what can be left out is. In plans with more than joins a
window may make a punctuation useless: there sets with windows are tried from the smallest on.

Cites: SAFETY 2.4 (Def 5)

Minimum hitting set: the smallest set that has an element of every given set.

Depth first: the smallest set that is not hit is hit by each of its elements in turn, an element that did not
help is not tried again, and sets that share nothing are counted, as each of them takes an element of its own.
Sets are bits of a number.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import reduce
from itertools import combinations, islice

from seine.algebra.definitions import StreamDef, with_since
from seine.algebra.plan import Plan, Project, Scan, walk
from seine.optimizer.traverse import identity, rebuild
from seine.safety.cures.remedies import Chosen, JoinCheck, PlanCheck, SchemeAddition
from seine.safety.states.check_plan import judge, kept_scans
from seine.safety.states.item_facts import Sources

MOST_TRIED = 200  # sets of additions that are judged for one cure, where windows are tried beside schemes
MOST_CUTS = 60  # of one search; if no cure is found by then, what can be left out of all additions is
MOST_STEPS = 3_000  # of one search for the fewest additions that hit all cuts; then it is enough to hit them
MOST_STREAMS_CURED = 40  # streams of a query for which schemes are looked for
MOST_SCHEMES = 1_000  # that could help

Cure = tuple[SchemeAddition, ...]


def cures(plan: Plan) -> list[Cure]:
    """Sets of additions that make a plan safe, the smallest first: of schemes alone, of windows alone, and
    of both if that takes fewer.
    """
    kept = kept_scans(plan)
    freed = judge(plan)
    unfreed = {scan.stream.name: scan.stream for scan in kept if not freed[scan.alias]}
    schemes = _schemes(plan) if len(kept) <= MOST_STREAMS_CURED else []
    if len(kept) > MOST_STREAMS_CURED or len(schemes) > MOST_SCHEMES:
        return [tuple(map(SchemeAddition, unfreed.values()))]
    lasting = {scan.stream.name: scan.stream for scan in kept if scan.window is None}
    windows = list(map(SchemeAddition, lasting.values()))
    smallest = [cure for cure in (_smallest(plan, schemes), _smallest(plan, windows)) if cure is not None]
    mixed = _smallest(plan, [*windows, *schemes], min(map(len, smallest)) - 1)
    return sorted([*smallest, *([mixed] if mixed is not None else [])], key=len)


def reusing_cures(plan: Plan, lasting: Sequence[Cure]) -> list[Cure]:
    """Those cures that make lapsing schemes last, with values that begin anew instead where that heals."""
    reusing = [tuple(addition.reusing() for addition in cure) for cure in lasting]
    fresh = [cure for cure, before in zip(reusing, lasting, strict=True) if cure != before]
    return [cure for cure in fresh if heals(plan, cure)]


def heals(plan: Plan, additions: Iterable[SchemeAddition]) -> bool:
    """Whether a plan is safe with these additions."""
    return all(judge(cured(plan, additions)).values())


def cured(plan: Plan, additions: Iterable[SchemeAddition]) -> Plan:
    """The plan over streams with these additions."""
    chosen = list(additions)

    def change(part: Plan) -> Plan:
        if not isinstance(part, Scan):
            return part
        changed = reduce(lambda stream, addition: addition.applied(stream), chosen, part.stream)
        if not any(addition.reuses and addition.stream.name == changed.name for addition in chosen):
            return replace(part, stream=changed)
        names = tuple(field.name for field in part.schema)
        return Project(replace(part, stream=with_since(changed)), tuple(identity(part)), names)

    return rebuild(plan, change)


def would_last(plan: Plan, aliases: Sequence[str]) -> bool:
    """Whether punctuations would free some of these streams if they did not lapse."""
    schemes = _lapsing(plan)
    if not schemes or len(kept_scans(plan)) > MOST_STREAMS_CURED:
        return False
    freed = judge(cured(plan, schemes))
    return any(freed[alias] for alias in aliases)


def _lapsing(plan: Plan) -> list[SchemeAddition]:
    """The schemes of a plan's streams that would last without their LIFESPAN."""
    streams = _streams(plan)
    return [
        SchemeAddition(stream, s.columns)
        for stream in streams
        for s in stream.schemes
        if s.lifespan is not None
    ]


def _streams(plan: Plan) -> list[StreamDef]:
    named = {part.stream.name: part.stream for part in walk(plan) if isinstance(part, Scan)}
    return list(named.values())


def _schemes(plan: Plan) -> list[SchemeAddition]:
    """The schemes that could help: lapsing ones made to last, and those on columns that others determine."""
    columns = Sources().determined_columns(plan)
    determined = [SchemeAddition(scan.stream, (column,)) for scan, column in columns]
    have = {(stream.name, scheme.columns) for stream in _streams(plan) for scheme in stream.schemes}
    fresh = [one for one in dict.fromkeys(determined) if (one.stream.name, one.columns) not in have]
    return [*_lapsing(plan), *fresh]


def _smallest(plan: Plan, additions: Sequence[SchemeAddition], most: int = MOST_STREAMS_CURED) -> Cure | None:
    """A smallest set that heals, of at most so many additions; None if there is none."""
    if not heals(plan, additions):
        return None
    remedies = _joined(plan, additions)
    if remedies is None and all(addition.columns for addition in additions):
        remedies = PlanCheck(additions, lambda chosen: heals(plan, chosen))
    return _tried(plan, additions, most) if remedies is None else _hitting(remedies, most)


def _joined(plan: Plan, additions: Sequence[SchemeAddition]) -> JoinCheck | PlanCheck | None:
    """The additions in the graph of a plan that is a plain join; None for any other plan."""
    sources, healed = Sources(), cured(plan, [addition for addition in additions if addition.columns])
    block, graph = sources.block(healed)
    if sources.why_not_purged(healed) is not None or len(graph.items) < 2 or not block.is_of_tables:
        return None
    scans = [item for item in (block.items[number] for number in graph.items) if isinstance(item, Scan)]
    return JoinCheck(scans, graph.graph, additions)


def _hitting(remedies: JoinCheck | PlanCheck, most: int) -> Cure | None:
    """The additions that hit every cut."""
    cuts, chosen = HittingSets(MOST_STEPS), Chosen()
    for _ in range(MOST_CUTS):
        if remedies.heals(chosen):
            break
        cuts.add(remedies.cut(chosen))
        try:
            chosen = cuts.smallest()
        except TooManyError:
            chosen = cuts.greedy()
        if cuts.least > most:
            return None
    else:
        chosen = frozenset(range(len(remedies.additions)))
    for number in cuts.seldom_first(chosen):
        if remedies.heals(chosen - {number}):
            chosen -= {number}
    return tuple(remedies.additions[number] for number in sorted(chosen)) if len(chosen) <= most else None


def _tried(plan: Plan, additions: Sequence[SchemeAddition], most: int) -> Cure | None:
    """The first of the smallest sets that heal, by trying; after many, all without what can be left out."""
    tried = 0
    for size in range(1, min(len(additions), most) + 1):
        for chosen in islice(combinations(additions, size), MOST_TRIED - tried):
            tried += 1
            if heals(plan, chosen):
                return chosen
        if tried >= MOST_TRIED:
            chosen = _without_needless(plan, additions)
            return chosen if len(chosen) <= most else None
    return None


def _without_needless(plan: Plan, additions: Sequence[SchemeAddition]) -> Cure:
    """Additions that heal, of which none can be left out."""
    for addition in additions:
        fewer = [one for one in additions if one != addition]
        if heals(plan, fewer):
            additions = fewer
    return tuple(additions)


class TooManyError(Exception):
    """The search was given up."""


class HittingSets:
    """Sets that come one after another, and the elements that hit all of them.

    >>> hitting = HittingSets(1_000)
    >>> for one in ([1, 2], [2, 3], [4]):
    ...     hitting.add(one)
    >>> sorted(hitting.smallest()), hitting.least
    ([2, 4], 2)
    """

    def __init__(self, most: int) -> None:
        """`most` is how many steps all searches together may take."""
        self._sets: list[int] = []
        self._left = most
        self.least = 0  # so many elements it takes

    def add(self, elements: Iterable[int]) -> None:
        self._sets.append(sum(1 << element for element in elements))
        self._sets.sort(key=lambda one: (one.bit_count(), one))
        self.least = max(self.least, _disjoint(self._sets))

    def smallest(self) -> frozenset[int]:
        """A smallest set that hits all; TooManyError when the steps are used up."""
        while True:
            hitting = self._within(self._sets, self.least)
            if hitting is not None:
                return frozenset(hitting)
            self.least += 1

    def greedy(self) -> frozenset[int]:
        """A set that hits all: again and again what hits most of those that are left."""
        chosen: list[int] = []
        left = list(self._sets)
        while left:
            counts = _counts(left)
            best = min(counts, key=lambda element: (-counts[element], element))
            chosen.append(best)
            left = [one for one in left if not one >> best & 1]
        return frozenset(chosen)

    def seldom_first(self, elements: Iterable[int]) -> list[int]:
        """Elements by how many of the sets they hit."""
        counts = _counts(self._sets)
        return sorted(elements, key=lambda element: counts.get(element, 0))

    def _within(self, sets: Sequence[int], size: int) -> list[int] | None:
        """At most so many elements that hit all, or None."""
        self._left -= 1
        if self._left < 0:
            raise TooManyError
        if not sets:
            return []
        if _disjoint(sets) > size:
            return None
        tried = 0
        for element in _elements(min(sets, key=int.bit_count)):
            rest = [one & ~tried for one in sets if not one >> element & 1]
            hitting = self._within(rest, size - 1) if all(rest) else None
            if hitting is not None:
                return [element, *hitting]
            tried |= 1 << element
        return None


def _disjoint(sets: Sequence[int]) -> int:
    """How many of these sets share nothing, as far as that is seen when they are taken in order."""
    taken = count = 0
    for one in sets:
        if not one & taken:
            taken |= one
            count += 1
    return count


def _counts(sets: Sequence[int]) -> dict[int, int]:
    """How many of the sets each element hits."""
    counts: dict[int, int] = {}
    for one in sets:
        for element in _elements(one):
            counts[element] = counts.get(element, 0) + 1
    return counts


def _elements(bits: int) -> list[int]:
    return [place for place in range(bits.bit_length()) if bits >> place & 1]
