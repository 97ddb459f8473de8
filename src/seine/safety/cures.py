"""The smallest additions to the declarations of streams that make a query safe.

An addition is a punctuation scheme of one column, a scheme whose promises no longer lapse, or a
window. Sets of additions are tried from the smallest on, schemes before windows: a scheme changes no
answer, a window does. Every set that is told was judged. When too many sets would have to be tried,
additions are chosen one by one, each for what it frees; none of those can be left out, but a smaller
set may exist. Of a very large query only the windows of what nothing frees are told.

Cites: SAFETY 2.4 (Def 5)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations, islice

from seine.algebra.definitions import Scheme, StreamDef
from seine.algebra.plan import Plan, Scan, walk
from seine.optimizer.traverse import rebuild
from seine.safety.judging import judge
from seine.safety.sources import Sources
from seine.safety.state import kept_scans

MOST_TRIED = 300  # sets of additions that are judged for one cure
LARGEST = 40  # streams of a query for which schemes are looked for
MOST_SCHEMES = 120  # that could help; with more, choosing takes minutes


@dataclass(frozen=True)
class Addition:
    """To the declaration of a stream: a scheme on `columns`, or a window if there are none."""

    stream: StreamDef
    columns: tuple[int, ...] = ()

    def applied(self, stream: StreamDef) -> StreamDef:
        if stream.name != self.stream.name:
            return stream
        if not self.columns:
            return replace(stream, window=1)
        return replace(stream, schemes=(*stream.schemes, Scheme(self.columns)))

    def __str__(self) -> str:
        if not self.columns:
            return f"a WINDOW on {self.stream.name}"
        names = ", ".join(self.stream.fields[column].name for column in self.columns)
        lapses = any(scheme.columns == self.columns for scheme in self.stream.schemes)
        return f"{self.stream.name} PUNCTUATED ON ({names}){' without LIFESPAN' if lapses else ''}"


Cure = tuple[Addition, ...]


def cures(plan: Plan) -> list[Cure]:
    """Sets of additions that make a plan safe, the smallest first: of schemes alone, of windows alone, and
    of both if that takes fewer.
    """
    kept = kept_scans(plan)
    freed = judge(plan)
    unfreed = {scan.stream.name: scan.stream for scan in kept if not freed[scan.alias]}
    schemes = _schemes(plan) if len(kept) <= LARGEST else []
    if len(kept) > LARGEST or len(schemes) > MOST_SCHEMES:
        return [tuple(map(Addition, unfreed.values()))]
    lasting = {scan.stream.name: scan.stream for scan in kept if scan.stream.window is None}
    windows = list(map(Addition, lasting.values()))
    found = [cure for cure in (_smallest(plan, schemes), _smallest(plan, windows)) if cure is not None]
    mixed = _smallest(plan, [*schemes, *windows], min(map(len, found)) - 1)
    return sorted([*found, *([mixed] if mixed is not None else [])], key=len)


def heals(plan: Plan, additions: Iterable[Addition]) -> bool:
    """Whether a plan is safe with these additions."""
    return all(judge(cured(plan, additions)).values())


def cured(plan: Plan, additions: Iterable[Addition]) -> Plan:
    """The plan over streams with these additions."""
    chosen = list(additions)

    def change(part: Plan) -> Plan:
        if not isinstance(part, Scan):
            return part
        return Scan(
            reduce(lambda stream, addition: addition.applied(stream), chosen, part.stream), part.alias
        )

    return rebuild(plan, change)


def would_last(plan: Plan, aliases: Sequence[str]) -> bool:
    """Whether promises would free some of these streams if they did not lapse."""
    schemes = _lapsing(plan)
    if not schemes or len(kept_scans(plan)) > LARGEST:
        return False
    freed = judge(cured(plan, schemes))
    return any(freed[alias] for alias in aliases)


def _lapsing(plan: Plan) -> list[Addition]:
    """The schemes of a plan's streams that would last without their LIFESPAN."""
    streams = _streams(plan)
    return [
        Addition(stream, s.columns) for stream in streams for s in stream.schemes if s.lifespan is not None
    ]


def _streams(plan: Plan) -> list[StreamDef]:
    named = {part.stream.name: part.stream for part in walk(plan) if isinstance(part, Scan)}
    return list(named.values())


def _schemes(plan: Plan) -> list[Addition]:
    """The schemes that could help: lapsing ones that would last, and columns that something else tells."""
    told = [Addition(scan.stream, (column,)) for scan, column in Sources().told_columns(plan)]
    have = {(stream.name, scheme.columns) for stream in _streams(plan) for scheme in stream.schemes}
    fresh = [one for one in dict.fromkeys(told) if (one.stream.name, one.columns) not in have]
    return [*_lapsing(plan), *fresh]


def _smallest(plan: Plan, additions: Sequence[Addition], most: int = LARGEST) -> Cure | None:
    """The first of the smallest sets that heal, of at most so many additions; None if there is none."""
    if not heals(plan, additions):
        return None
    tried = 0
    for size in range(1, min(len(additions), most) + 1):
        for chosen in islice(combinations(additions, size), MOST_TRIED - tried):
            tried += 1
            if heals(plan, chosen):
                return chosen
        if tried >= MOST_TRIED:
            chosen = _one_by_one(plan, additions)
            return chosen if len(chosen) <= most else None
    return None


def _one_by_one(plan: Plan, additions: Sequence[Addition]) -> Cure:
    """Additions chosen for how many streams each frees, of which none can be left out."""
    chosen: list[Addition] = []
    while not heals(plan, chosen):
        rest = [addition for addition in additions if addition not in chosen]
        chosen.append(max(rest, key=lambda one: sum(judge(cured(plan, [*chosen, one])).values())))
    for addition in list(chosen):
        fewer = [one for one in chosen if one != addition]
        if heals(plan, fewer):
            chosen = fewer
    return tuple(chosen)
