"""Punctuations as state: which schemes a query listens to, and whether what it holds of them is bounded.

Joins hold a punctuation for rows that may still come; groups hold it until every stream beneath has
punctuated as much. Data purgeability, which the verdict `safe` is about, does not bound them: in the cycle of
SAFETY's Example 3 every tuple goes, and every punctuation stays.

    s1 punctuates b, s2 punctuates c, s3 punctuates a     rows held: 0, 0, 0     punctuations: 9, 45, 81, ...

They are bounded where other punctuations purge them, or where they lapse (LIFESPAN), given that a stream
does not say again, by another scheme, what it has punctuated already. A query that says WITH
(punctuations = 'bounded') is refused where they are not.

Cites: SAFETY 5.1 (data purgeability, punctuation purgeability), SAFETY 4.1 (Example 3)
Differs: SAFETY says that strictly both are needed and that in practice the first is enough; so does the
default here, and the verdict names what grows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from seine.algebra.document_plan import DocumentQuery
from seine.algebra.plan import Lookup, Plan, Scan, UnionAll, walk
from seine.algebra.search_plan import Search
from seine.optimizer.block import Block
from seine.safety.graph.punctuation_graph import RELATION, Graph, KeptScheme, kept_schemes, punctuated
from seine.safety.plans.joined_streams import joined_at_once
from seine.safety.states.final_groups import KeyScheme, freeing_of, row_schemes
from seine.safety.states.item_facts import Branch, Sources
from seine.safety.states.operator_states import column_names

BOUNDED = "bounded"  # the value of the option `punctuations` that refuses what grows


@dataclass(frozen=True)
class HeldScheme:
    """A scheme that a query listens to, as `alias.column`; `until`: who has to punctuate the same so that its
    punctuations go. If nobody has to they are bounded.
    """

    name: str
    columns: str
    until: tuple[str, ...]
    only_lifespan: bool = False  # whether a relation is among those, which punctuates nothing
    windows: bool = False  # whether all streams that it is joined with have one
    place: str = ""

    @property
    def is_bounded(self) -> bool:
        return not self.until and not self.only_lifespan

    @property
    def cure(self) -> str:
        """What would bound it."""
        if self.only_lifespan:
            return f"{self._lifespan} of {self.name}"
        return " and ".join(f"{alias} PUNCTUATED ON {self.columns}" for alias in self.until)

    @property
    def _lifespan(self) -> str:
        return "a LIFESPAN" if self.windows else "windows and a LIFESPAN"

    def line(self) -> str:
        """What is said of one that grows."""
        others = "" if self.only_lifespan else f"until {' and '.join(self.until)} punctuates the same, or "
        growth = f"punctuations of {self.name} stay{self.place}, and grow without end"
        return f"{growth}: {others}with {self._lifespan}"


def growth_words(growing: Sequence[HeldScheme]) -> str:
    """Why a query is refused for its punctuations."""
    return f"nothing purges the punctuations of {', '.join(scheme.name for scheme in growing)}"


def held_schemes(plan: Plan) -> list[HeldScheme]:
    """Every scheme whose punctuations a safe query holds, each once; one that grows anywhere grows."""
    if isinstance(plan, Search | DocumentQuery):
        return []
    if not any(isinstance(part, Scan) and part.stream.schemes for part in walk(plan)):
        return []
    schemes: dict[str, HeldScheme] = {}
    for scheme in _of_plan(plan, Sources()):
        known = schemes.get(scheme.name)
        if known is None or known.is_bounded:
            schemes[scheme.name] = scheme
    return list(schemes.values())


def _of_plan(plan: Plan, sources: Sources) -> Iterator[HeldScheme]:
    block, graph = sources.block(plan)
    if len(graph.items) > 1 and sources.why_not_purged(plan) is None:
        columns = column_names(block, graph)
        for kept in kept_schemes(graph.graph, _looks_up(block)):
            item, held = block.items[graph.items[kept.item]], _held(graph.graph, columns[kept.item], kept)
            if isinstance(item, Scan):
                yield held
            else:
                yield from _beneath(item, kept.closer.columns, held, sources)
    for number in graph.items:
        breaker = block.items[number]
        if not isinstance(breaker, Scan):
            if not isinstance(breaker, UnionAll):
                yield from _of_groups(sources.leaves(breaker))
            for child in breaker.inputs:
                yield from _of_plan(child, sources)


def _beneath(item: Plan, columns: Sequence[int], held: HeldScheme, sources: Sources) -> Iterator[HeldScheme]:
    """The schemes of the streams beneath a result that together promise some of its columns."""
    for uses in row_schemes(item, lambda plan: sources.block(plan)[0]):
        for use in uses:
            if {place for place, _ in use.places} <= {*columns}:
                names = [field.name for field in use.scan.schema]
                named = punctuated(names, use.scan.stream.schemes[use.scheme].columns)
                yield replace(held, name=f"{use.scan.alias}.{named}", columns=_in_brackets(named))


def _looks_up(block: Block) -> bool:
    """Whether relations are looked up instead of being part of a join of all at once."""
    numbers = range(len(block.items))
    streams = [number for number in numbers if isinstance(block.items[number], Scan)]
    relations = [number for number in numbers if isinstance(block.items[number], Lookup)]
    joined = joined_at_once(block, streams, relations) if relations else None
    return bool(relations) and (joined is None or len(joined.items) == len(streams))


def _held(graph: Graph, names: Sequence[str], kept: KeptScheme) -> HeldScheme:
    columns = punctuated(names, kept.closer.columns)
    until = tuple(graph.items[number].name for number in kept.missing if number != RELATION)
    windows = all(item.expires for item in graph.items)
    name = f"{graph.items[kept.item].name}.{columns}"
    return HeldScheme(name, _in_brackets(columns), until, RELATION in kept.missing, windows)


def _in_brackets(columns: str) -> str:
    return columns if columns.startswith("(") else f"({columns})"


def _of_groups(leaves: Sequence[Branch]) -> Iterator[HeldScheme]:
    """The schemes that free groups; a punctuation goes when every other stream has punctuated as much."""
    schemes = freeing_of([leaf.grouping for leaf in leaves]).schemes
    for number, uses in enumerate(schemes):
        for use in uses:
            scan = use.scan
            names = [field.name for field in scan.schema]
            columns = punctuated(names, scan.stream.schemes[use.scheme].columns)
            until = tuple(
                theirs[0].scan.alias
                for other, theirs in enumerate(schemes)
                if other != number and not any(_places(one) <= _places(use) for one in theirs)
            )
            yield HeldScheme(f"{scan.alias}.{columns}", _in_brackets(columns), until, place=" with groups")


def _places(use: KeyScheme) -> set[int]:
    return {place for place, _ in use.places}
