"""The gap between safe and runnable: state that punctuations would free, but that no operator purges.

The closure over the punctuation graph says that rows are finished. A join forgets them only where nothing can
take back what it has reported of them, and where it sees the columns that are punctuated. The check counts
state as never freed for these reasons, and the builder places no purges for them.
"""

from __future__ import annotations

from seine.algebra.plan import (
    Aggregate,
    Distinct,
    Lookup,
    PartnerLookup,
    Plan,
    Project,
    Scan,
    Select,
    SetOperation,
    UnionAll,
    walk,
)
from seine.algebra.rank_plan import Partitioned
from seine.optimizer.block import Block, take_apart
from seine.optimizer.optimise import optimise

JOINED = "punctuations do not free rows joined with groups, set operators or RETRACTABLE streams"
APART = (
    "watermarks free rows joined with groups or set operators two at a time, or by one column that is a time"
)
COMPUTED = "punctuations do not free rows joined with columns whose expressions are too large to be inlined"
GROUPED = "punctuations free groups only if all streams beneath punctuate their keys and none expires"
RESULTS = "punctuations do not free results that may end"


def is_appended(block: Block) -> bool:
    """Whether the rows of a block are combinations of tuples that nothing deletes."""
    streams = [item for item in block.items if not isinstance(item, Lookup)]
    return all(isinstance(item, Scan) and not item.stream.retractable for item in streams)


def is_appended_result(plan: Plan) -> bool:
    """Whether a result has the rows of streams as they come: a UNION ALL of tuples that nothing deletes."""
    breakers = [
        part for part in walk(plan) if isinstance(part, Aggregate | Distinct | SetOperation | Partitioned)
    ]
    deletable = [part for part in walk(plan) if isinstance(part, Scan) and part.stream.retractable]
    return isinstance(plan, UnionAll | PartnerLookup) and not breakers and not deletable


def why_not_purged(plan: Plan, block: Block, by_one_time: bool) -> str | None:
    """Why the joins of a plan's top block free no rows by punctuations and watermarks; None if they do.

    `block` is the plan's with everything inlined; `by_one_time`: a column that is a time in each item is
    equal in all. A join with rows that may end early (of a RETRACTABLE stream, of groups, of a set operator)
    has to know all pairs that it reported, to retract them: so until they are final. Columns that are not
    inlined where they are joined are computed before: of their rows no punctuation is known.
    """
    streams = [item for item in block.items if not isinstance(item, Lookup)]
    if any(isinstance(item, Scan) and item.stream.retractable for item in streams):
        return JOINED
    if not block.is_of_tables and len(streams) > 2 and not by_one_time:
        return APART
    return COMPUTED if len(block.items) > 1 and not _is_inlined(plan) else None


def _is_inlined(plan: Plan) -> bool:
    """Whether the joins of a plan read streams and relations as they are, once it is optimised."""
    return _reads_tables(take_apart(plan)) or _reads_tables(take_apart(optimise(plan)))


def _reads_tables(block: Block) -> bool:
    """Whether no join of a block, or of those that are its items, has an item that is computed."""
    computed = [item for item in block.items if isinstance(item, Select | Project)]
    if len(block.items) > 1:
        return not computed
    return all(_reads_tables(take_apart(item)) for item in computed)
