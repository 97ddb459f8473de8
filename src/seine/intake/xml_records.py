"""Documents of files to typed rows: the document is one column, the others are read from it by paths.

    CREATE STREAM s (doc XML, title STRING, ts TIMESTAMP) TIMESTAMP BY ts
      FROM 'inbox' FORMAT XML WITH (ts = '/item/pubDate')

A column without a path is the root's child of that name. White space around a value is left out unless its
column is text. Timestamps are ISO 8601 or RFC 822, as feeds have them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from functools import cached_property

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import IntArray
from seine.algebra.definitions import Source
from seine.algebra.tree_pattern import FieldPath, read_field_path, read_prefixes
from seine.algebra.types import Kind
from seine.documents.document import child_text, feed_items, item_time, text_at
from seine.documents.parse_document import parse_document
from seine.intake.parsed import event_times, null_places
from seine.intake.record_layout import RecordLayout
from seine.intake.text_values import read_text


@dataclass(frozen=True)
class DocumentColumns:
    """How a source of documents makes rows of them."""

    layout: RecordLayout
    source: Source

    @property
    def is_feed(self) -> bool:
        """Whether each item of a file is a document, and not the file."""
        return self._options.get("feed") == "true"

    @cached_property
    def document(self) -> int:
        """The position of the column that has the document."""
        return next(i for i, field in enumerate(self.layout.fields) if field.type.kind is Kind.XML)

    @cached_property
    def _options(self) -> Mapping[str, str]:
        return dict(self.source.options)

    @cached_property
    def _prefixes(self) -> Mapping[str, str] | None:
        return read_prefixes(self._options.get("namespaces"))

    @cached_property
    def _paths(self) -> list[FieldPath | None]:
        """The path of each column that has one."""
        given = [self._options.get(field.name) for field in self.layout.fields]
        return [None if path is None else read_field_path(path, self._prefixes) for path in given]

    def documents(self, text: str) -> list[str]:
        """The documents of a file, those of a feed by their times; raises a DocumentFault."""
        if not self.is_feed:
            parse_document(text, comments=False)
            return [text]
        items = feed_items(text)
        if self.layout.time is None or len(items) < 2:
            return items
        times = self.column(self.layout.time, [self.texts(item) for item in items])[0]
        order = np.lexsort((event_times(times), ~null_places(times)))  # without a time first: dead letters
        return [items[place] for place in order]

    def texts(self, document: str) -> list[str | None]:
        """The text of each column of a document, NULL where there is none."""
        root = parse_document(document, comments=False)
        texts: list[str | None] = []
        for place, (field, path) in enumerate(zip(self.layout.fields, self._paths, strict=True)):
            if place == self.document:
                texts.append(document)
            elif path is not None:
                texts.append(text_at(root, path, self._prefixes is None))
            else:
                text = child_text(root, field.name)
                is_time = place == self.layout.time and self.is_feed
                texts.append(item_time(root) if text is None and is_time else text)
        return texts

    def column(self, place: int, rows: Sequence[Sequence[str | None]]) -> tuple[pa.Array, IntArray]:
        """The values of a column, and the rows whose text is no value of its type."""
        kind = self.layout.fields[place].type
        texts = [row[place] for row in rows]
        if not kind.is_text:
            texts = [None if text is None or not text.strip() else text.strip() for text in texts]
        if kind.kind is Kind.TIMESTAMP:
            texts = [None if text is None else iso_time(text) for text in texts]
        values, bad = read_text(pa.array(texts, pa.string()), kind)
        return values, np.flatnonzero(bad)


def iso_time(text: str) -> str:
    """A date of RFC 822 as one of ISO 8601; anything else as it is.

    >>> iso_time("Tue, 10 Jun 2003 04:00:00 +0200"), iso_time("2003-06-10")
    ('2003-06-10T02:00:00Z', '2003-06-10')
    """
    if text[:1].isdigit() and text[4:5] == "-":
        return text
    try:
        instant = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return text
    try:
        zoned = instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant.astimezone(UTC)
    except (ValueError, OverflowError):
        return text
    return zoned.strftime("%Y-%m-%dT%H:%M:%SZ")
