"""How much queries share: the switches that benchmarks compare and tests turn.

No switch changes an answer.

Cites: ARGUS 4, 5.2, Table 1 (the configurations)
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Strategy:
    """What the optimiser and the builder of the network may do."""

    share: bool = True  # off: every query has nodes of its own
    joins: bool = True  # off: joins are not shared, selections are (NonJoinS)
    canonical: bool = True  # off: predicates are compared as they were written (NonCanon)
    search: bool = True  # off: the plan that is best for the query alone is matched bottom-up (MatchPlan)
    transitivity: bool = True  # infer conditions from others
    materialise: float = 0.9  # a condition that lets more than this share pass is not asked before a join
    lazy: bool = False  # joins let promises gather before they free what these finish


CONFIGURATIONS = {
    "all": Strategy(),
    "no-join-sharing": Strategy(joins=False),
    "no-canonical": Strategy(canonical=False),
    "match-plan": Strategy(search=False),
    "match-plan-no-canonical": Strategy(search=False, canonical=False),
    "off": Strategy(share=False),
}
