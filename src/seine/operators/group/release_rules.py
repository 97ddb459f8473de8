"""The rules by which groups become final: punctuations of their keys, and keys that are event times."""

from __future__ import annotations

from dataclasses import dataclass

from seine.operators.join.final_time import FinalTime
from seine.operators.join.purge_rule import PurgeRule


@dataclass(frozen=True)
class Releases:
    """What frees groups: the punctuations that come by the last ports of their node, and keys that are times.

    `purges` say who punctuates which keys.
    """

    purges: tuple[PurgeRule, ...] = ()
    punctuators: int = 0
    clocks: tuple[FinalTime, ...] = ()
