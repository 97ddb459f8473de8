"""States the time-outs of punctuations as conditions on times.

A punctuation may be missed, and then what waits for it would wait for ever. A scheme with a TIMEOUT n says
how long anything waits: a tuple s of its stream and a tuple t of another, equal in all columns of the scheme,
join only if s.ts <= t.ts + n. So t is freed when the stream's watermark has passed that, punctuated or not,
and whether a pair is reported depends on event times alone.

    CREATE STREAM bid (...) TIMESTAMP BY ts PUNCTUATED ON (itemid) TIMEOUT 100 ...

    before: item.itemid = bid.itemid
    after:  item.itemid = bid.itemid AND bid.ts <= item.ts + 100

Cites: SAFETY 5.1 (missed punctuations: a clean-up of what they would have purged)
"""

from __future__ import annotations

from collections.abc import Sequence

from seine.algebra.definitions import Scheme
from seine.algebra.expressions import Expression, Literal
from seine.algebra.functions import literal, resolve_call
from seine.algebra.plan import Plan
from seine.algebra.types import DAY_TIME
from seine.optimizer.scheme_partners import Partner, partners


def with_timeouts(
    items: Sequence[Plan], offsets: Sequence[int], conditions: tuple[Expression, ...]
) -> tuple[Expression, ...]:
    """The conditions of a block, equalities stated plainly, and those that time-outs of its streams add."""
    added = [_within(partner) for partner in partners(items, offsets, conditions, _has_timeout)]
    return tuple(dict.fromkeys([*conditions, *added])) if added else conditions


def _has_timeout(scheme: Scheme) -> bool:
    return scheme.timeout is not None


def _within(partner: Partner) -> Expression:
    """stream.ts <= other.ts + timeout"""
    stream = partner.stream.scan.stream
    most = stream.schemes[partner.scheme].timeout or 0
    length = Literal(most, DAY_TIME) if stream.domain == "timestamp" else literal(most)
    return resolve_call("le", [partner.stream.time, resolve_call("add", [partner.other.time, length])])
