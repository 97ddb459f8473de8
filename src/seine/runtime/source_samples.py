"""Samples of the sources of a script, taken when planning asks for one.

Law: a sample is a function of the declaration and the files; a source that cannot be sampled has none, and is
planned without. No answer depends on them.

Cites: ARGUS 4 (historical data for estimating costs)
Differs: the paper has a history of each table before its queries come; a run has the files that it will read.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping

import pyarrow as pa

from seine.algebra.definitions import RelationDef, StreamDef
from seine.errors import SeineError
from seine.intake.source_sample import sample_source
from seine.optimizer.estimates import Estimates, Sample

_logger = logging.getLogger(__name__)


class SourceSamples(Mapping[str, Sample]):
    """The samples by name of stream or relation; `taken` are those that were asked for, and are there."""

    def __init__(self, declared: Mapping[str, StreamDef | RelationDef], most: int) -> None:
        self._declared = {one.name: one for one in declared.values()}
        self._most = most
        self._known: dict[str, Sample | None] = {}

    @property
    def taken(self) -> dict[str, Sample]:
        return {name: sample for name, sample in sorted(self._known.items()) if sample is not None}

    def __getitem__(self, name: str) -> Sample:
        if name in self._declared and name not in self._known:
            self._known[name] = _take(self._declared[name], self._most)
        sample = self._known.get(name)
        if sample is None:
            raise KeyError(name)
        return sample

    def __iter__(self) -> Iterator[str]:
        return iter(self._declared)

    def __len__(self) -> int:
        return len(self._declared)


def source_estimates(declared: Mapping[str, StreamDef | RelationDef], most: int) -> Estimates | None:
    """Estimates by samples of at most so many rows of each source; None if nothing is to be looked at."""
    return Estimates(SourceSamples(declared, most)) if most else None


def samples_text(estimates: Estimates | None) -> str:
    """Which samples a plan was chosen by, as a line; nothing if by none."""
    parts = [f"{name} ({_size(**sizes)})" for name, sizes in samples_json(estimates).items()]
    return f"planned by samples of {', '.join(parts)}\n" if parts else ""


def _size(rows: int, seen: int) -> str:
    return f"all {rows:,} rows" if rows == seen else f"{rows:,} of about {seen:,} rows"


def samples_json(estimates: Estimates | None) -> dict[str, dict[str, int]]:
    """By name of stream or relation: the rows of its sample, and how many it is estimated to have."""
    if estimates is None or not isinstance(estimates.samples, SourceSamples):
        return {}
    taken = estimates.samples.taken.items()
    return {name: {"rows": sample.rows.num_rows, "seen": round(sample.seen)} for name, sample in taken}


def _take(declared: StreamDef | RelationDef, most: int) -> Sample | None:
    """A sample is a hint: whatever is wrong with a source is told by intake, when it is read."""
    try:
        sample = sample_source(declared, most)
    except (SeineError, OSError, pa.ArrowException) as error:
        reason = error.message if isinstance(error, SeineError) else str(error)
        _logger.info("source not sampled", extra={"source": declared.name, "reason": reason})
        return None
    if sample is None:
        return None
    rate = sample.seen / max(sample.span, 1.0) if isinstance(declared, StreamDef) else None
    return Sample(sample.rows, sample.seen, rate, sample.punctuations)
