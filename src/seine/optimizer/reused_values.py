"""States that a value which is reused begins anew: a condition on times.

Of a scheme with REUSED AFTER n, values that are punctuated at p do not come again before p + n, and from then
on they mean something else: a transmission that ended, and another one with the same number. Admission gives
each tuple s of the stream an instant, since(s): the latest p + n of a punctuation of its values that stands
before it. A tuple t of another stream, equal in all columns of the scheme, joins s only if it is from then.

    CREATE STREAM packet (...) TIMESTAMP BY ts PUNCTUATED ON (seq) REUSED AFTER 100 ...

    before: flow.seq = packet.seq
    after:  flow.seq = packet.seq AND packet.since(seq) <= flow.ts

    packet    seq 7 at 5      7 punctuated at 10      seq 7 at 130, since 110
    flow          seq 7 at 6                  seq 7 at 115
    pairs     (5, 6)                              (130, 115), not (130, 6)

So a tuple of flow is finished when its value has been punctuated with an end beyond it, and the punctuation
when flow's time has passed that end: both are bounded though nothing has a window. What is reported depends
on the lines of each stream alone, not on when somebody purged.

Cites: SAFETY 5.1 (lifespans, and the reuse of identifiers)
Differs: in SAFETY a tuple that was not purged in time joins the reused value; here none from before does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from seine.algebra.expressions import Expression
from seine.algebra.functions import resolve_call
from seine.algebra.plan import Plan
from seine.optimizer.scheme_partners import Partner, partners


def with_reuse(
    items: Sequence[Plan], offsets: Sequence[int], conditions: tuple[Expression, ...]
) -> tuple[Expression, ...]:
    """The conditions of a block, equalities stated plainly, and those that reused values add."""
    added = [_begins_anew(partner) for partner in reuse_partners(items, offsets, conditions)]
    return tuple(dict.fromkeys([*conditions, *added])) if added else conditions


def reuse_partners(
    items: Sequence[Plan], offsets: Sequence[int], conditions: Sequence[Expression]
) -> Iterator[Partner]:
    """Schemes whose values are reused, each with a stream that they begin anew for."""
    return partners(items, offsets, conditions, lambda scheme: scheme.reused)


def _begins_anew(partner: Partner) -> Expression:
    """stream.since <= other.ts"""
    since = partner.stream.column(partner.stream.scan.stream.since[partner.scheme])
    return resolve_call("le", [since, partner.other.time])
