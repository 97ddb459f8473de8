"""A bounded systematic sample of a source, for statistics before anything is read.

Records are parsed as intake will parse them; what intake would refuse is left out, and so are negative
tuples; punctuations are counted.

Law: the sample depends on the names and contents of the files alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from seine.algebra.definitions import RelationDef, Source, StreamDef
from seine.intake.file_looks import Looks, look_at_documents, look_at_lines, look_at_row_groups
from seine.intake.files import Files
from seine.intake.formats import LineParser, Reader, open_source
from seine.intake.line_reader import LineReader
from seine.intake.parsed import TUPLE, Parsed
from seine.intake.record_layout import RecordLayout
from seine.intake.xml_files import XmlReader


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
