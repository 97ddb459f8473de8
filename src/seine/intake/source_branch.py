"""The streams that Spark reads for a pipeline: each is a branch of the plan, beside the journal's.

A pipeline has the same branches from its first micro-batch to its last. When others are wanted, it hands its
state over to a pipeline that has them, and a branch that both have goes on where it was.
"""

from __future__ import annotations

from msgspec import Struct


class SourceBranch(Struct, frozen=True):
    """A stream that Spark reads, and the entry with which it began: one of the same name may have gone."""

    stream: str
    born: int = 0


class PipelineShape(Struct, frozen=True):
    """What the plan of a pipeline depends on, beside its buckets: stages and branches."""

    depth: int = 0
    branches: tuple[SourceBranch, ...] = ()
