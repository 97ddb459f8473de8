"""The shedding policies by name, and the options of a query that choose one."""

from __future__ import annotations

from dataclasses import dataclass

from seine.shedding.auto import Auto
from seine.shedding.dgl import Dgl
from seine.shedding.dimpprob import DimpProb
from seine.shedding.matches import Edges
from seine.shedding.policy import Policy
from seine.shedding.rand import Rand, scramble
from seine.shedding.semantic import Semantic
from seine.shedding.simp import Simp
from seine.shedding.simpprob import SimpProb

NAMES = ("auto", "rand", "semantic", "simp", "simpprob", "dimpprob", "dgl")
DEFAULT_BETA = 1.0


@dataclass(frozen=True)
class Shedding:
    """How a query sheds load: the options `shed`, `alpha`, `beta`, `seed` and `importance`."""

    name: str = "auto"
    alpha: float | None = None
    beta: float = DEFAULT_BETA
    seed: int = 0
    importance: str = "min"  # how the importance of a result comes from its tuples'; only auto uses it

    def __post_init__(self) -> None:
        assert self.name in NAMES, self.name
        assert self.alpha is None or self.alpha > 0

    def policy(self, stream: int, edges: Edges) -> Policy:
        """The policy for one stream's window."""
        match self.name:
            case "rand":
                return Rand(scramble(self.seed) ^ stream)
            case "semantic":
                return Semantic(stream, edges)
            case "simp":
                return Simp()
            case "simpprob":
                return SimpProb()
            case "dimpprob":
                return DimpProb()
            case "dgl":
                return Dgl(self.alpha, self.beta)
            case _:
                return Auto(stream, edges, self.importance)
