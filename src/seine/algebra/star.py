"""The star join: one operator that joins streams, directly or through relations: its probe orders and memory.

A result row is the concatenation of all items in the order of FROM.

Cites: STAR 2.1 (the star-streaming join)
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from seine.algebra.expressions import Expression
from seine.algebra.plan import Lookup, Query, Scan, walk
from seine.algebra.types import Type

SHEDDING_POLICIES = ("auto", "rand", "semantic", "simp", "simpprob", "dimpprob", "dgl")
UNLIMITED = 2**62  # tuples
IMPORTANCE_FUNCTIONS = ("min", "sum", "product")
_BYTES_PER_UNIT = {"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*", re.IGNORECASE)


@dataclass(frozen=True)
class StarItem:
    """An input of a star join: a stream, whose tuples arrive at a port, or a relation.

    `start` is the position of its first column in the result row; `window` is that of a stream. `importance`
    and, of a relation with VALID, `until` (the end of validity) are positions in the item's row.
    """

    start: int
    types: tuple[Type, ...]
    port: int | None = None
    relation: str | None = None
    window: int | None = None
    importance: int | None = None
    until: int | None = None

    def __post_init__(self) -> None:
        if (self.port is None) == (self.relation is None):
            raise ValueError("an item is a stream or a relation")

    @property
    def positions(self) -> range:
        """The positions of its columns in the result row."""
        return range(self.start, self.start + len(self.types))


@dataclass(frozen=True)
class Probe:
    """One step of a probe order: an item is joined with the items bound before it.

    Equi-join keys are `bound_key`, over the result row, and `own_key`, over the item's row. `conditions` are
    those over the result row that can be evaluated from this step on.
    """

    item: int
    bound_key: tuple[Expression, ...]
    own_key: tuple[Expression, ...]
    conditions: tuple[Expression, ...]


ArrivalProbes = tuple[Probe, ...]  # the probe order of an arriving tuple


@dataclass(frozen=True)
class StarEdge:
    """An edge of the join graph between streams: a common key, perhaps of relations between them.

    For each of its ports, `keys` has the key over the stream's row and `probe_orders` the probes of the
    relations on the path to that key.
    """

    ports: tuple[int, ...]
    keys: tuple[tuple[Expression, ...], ...]
    probe_orders: tuple[ArrivalProbes, ...]


@dataclass(frozen=True)
class Star:
    """The definition of a star join: its items, the probe order of arrivals at each port, and its join graph.

    `filters` are, for each port, probes of relations that are on no edge: a tuple needs a match in each.
    """

    items: tuple[StarItem, ...]
    probe_orders: tuple[ArrivalProbes, ...]
    edges: tuple[StarEdge, ...]
    filters: tuple[tuple[ArrivalProbes, ...], ...]

    @property
    def streams(self) -> tuple[int, ...]:
        """The index of the item of each port."""
        places = {item.port: number for number, item in enumerate(self.items) if item.port is not None}
        return tuple(places[port] for port in range(len(places)))


@dataclass(frozen=True)
class MemoryLimit:
    """A limit of join state, in tuples or in bytes, and the load-shedding policy that keeps within it.

    Each of n streams has an equal share, rounded down. `alpha` None is the policy's default.
    """

    tuples: int | None
    bytes: int | None
    shed: str = "auto"
    alpha: float | None = None
    beta: float | None = None
    seed: int = 0
    importance: str = "min"

    def __post_init__(self) -> None:
        if (self.tuples is None) == (self.bytes is None):
            raise ValueError("a limit is in tuples or in bytes")
        if self.shed not in SHEDDING_POLICIES or self.importance not in IMPORTANCE_FUNCTIONS:
            raise ValueError(f"no such shedding policy: {self.shed}, {self.importance}")


def memory_limit(query: Query) -> MemoryLimit | None:
    """The memory limit of a query; None without one, or if it joins fewer than two streams."""
    options = dict(query.options)
    memory = options.get("memory")
    if memory is None or len(_scans(query)) < 2:
        return None
    size = bytes_of(memory) if isinstance(memory, str) else None
    given = {
        name: options[name] for name in ("shed", "alpha", "beta", "seed", "importance") if name in options
    }
    return MemoryLimit(memory if isinstance(memory, int) else None, size, **given)  # type: ignore[arg-type]


def star_limit(query: Query) -> MemoryLimit | None:
    """The limit of a query that the star join evaluates; None for a query of binary and multi-way joins.

    The star join serves queries with a memory limit. Without a limit (`UNLIMITED`) it also serves those that
    join streams through a relation that is followed, since each arrival has to probe the relation as it is at
    that moment.
    """
    limit = memory_limit(query)
    if limit is not None:
        return limit
    changing = any(isinstance(part, Lookup) and part.relation.followed for part in walk(query.plan))
    return MemoryLimit(UNLIMITED, None, "simp") if changing and len(_scans(query)) >= 2 else None


def _scans(query: Query) -> list[Scan]:
    return [part for part in walk(query.plan) if isinstance(part, Scan)]


def bytes_of(text: str) -> int | None:
    """A size such as '64 MB' in bytes; None if the text is no size.

    >>> [bytes_of(text) for text in ("64 MB", "1.5KiB", "10", "MB", "5 parsecs")]
    [64000000, 1536, None, None, None]
    """
    match = _SIZE.fullmatch(text)
    if match is None or match[2].lower() not in _BYTES_PER_UNIT:
        return None
    return int(float(match[1]) * _BYTES_PER_UNIT[match[2].lower()])
