"""Bounded systematic samples of the sources of a script, taken when planning asks for one.

Records are parsed as intake will parse them; what intake would refuse is left out, and so are negative
tuples; punctuations are counted.

Law: a sample is a function of the declaration and of the names and contents of the files; a source that
cannot be sampled has none, and is planned without. No answer depends on them.

Cites: ARGUS 4 (historical data for estimating costs)
Differs: the paper has a history of each table before its queries come; a run has the files that it will read.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from seine.algebra.definitions import RelationDef, Source, StreamDef
from seine.errors import SeineError
from seine.intake.file_looks import Looks, look_at_documents, look_at_lines, look_at_row_groups
from seine.intake.files import Files
from seine.intake.formats import LineParser, Reader, open_source
from seine.intake.line_reader import LineReader
from seine.intake.parsed import TUPLE, Parsed
from seine.intake.record_layout import RecordLayout
from seine.optimizer.estimates import Estimates, Sample


@dataclass(frozen=True)
class SourceSample:
    """Tuples of a source, c0, c1, .., how many it is estimated to have, and over which span of event time.

    The span of a relation is 0. `punctuations` are how many it is estimated to have of each scheme.
    """

    rows: pa.RecordBatch
    seen: float
    span: float
    punctuations: Mapping[int, int]


def sample_source(declared: StreamDef | RelationDef, most: int) -> SourceSample | None:
    """At most so many tuples of a stream or relation; None if there are none, or it has no files.

    Raises what reading them would raise.
    """
    source = declared.source
    if source is None or source.is_database or source.reader is not None:
        return None
    if not (paths := Files.of(source).listing()):
        return None
    reader, parser = _open(declared.name, source, RecordLayout.of(declared))
    try:
        looks = _look(reader, paths, most)
        return _sample([parser.parse(piece) for piece in looks.pieces], looks, most)
    finally:
        reader.close()


def _open(name: str, source: Source, layout: RecordLayout) -> tuple[Reader, LineParser]:
    follow = source.format == "PARQUET"  # whose reader else opens every file
    return open_source(name, source, layout, {}, follow=follow, notice=lambda text: None)


def _look(reader: Reader, paths: Sequence[str], most: int) -> Looks:
    if isinstance(reader, LineReader):
        return look_at_lines(reader, paths)
    from seine.intake.xml_files import XmlReader  # of few sources

    if isinstance(reader, XmlReader):
        return look_at_documents(reader, paths, most)
    return look_at_row_groups(paths, most)


def _sample(parsed: Sequence[Parsed], looks: Looks, most: int) -> SourceSample | None:
    tuples = [lines.take(lines.kind == TUPLE) for lines in (part.tuples for part in parsed)]
    count = sum(map(len, tuples))
    if not count:
        return None
    rows = pa.concat_batches([lines.rows for lines in tuples])
    times = np.concatenate([lines.time for lines in tuples])
    span = float(times.max()) - float(times.min())
    chosen = np.linspace(0, count - 1, min(most, count)).astype(np.int64)
    schemes, made = np.unique(np.concatenate([p.punctuations.kind for p in parsed]), return_counts=True)
    return SourceSample(
        rows.take(pa.array(chosen)),
        count / looks.share,
        span if looks.spread else span / looks.share,
        dict(zip(schemes.tolist(), (made / looks.share).round().astype(np.int64).tolist(), strict=True)),
    )


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
