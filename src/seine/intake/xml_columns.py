"""Validation of XML columns: a document that the one parser of documents refuses makes a dead letter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from seine.algebra.types import Kind
from seine.documents.parse_document import fault_of
from seine.intake.parsed import DeadLine, Parsed, ParsedLines, Record
from seine.intake.record_layout import RecordLayout


def refuse_documents(layout: RecordLayout, parsed: Parsed) -> Parsed:
    """The parsed lines, with dead letters for those that have a document which is not accepted."""
    named = {f"c{i}": field.name for i, field in enumerate(layout.fields) if field.type.kind is Kind.XML}
    if not named:
        return parsed
    tuples, refused_tuples = _refuse(named, parsed.tuples, parsed.record)
    punctuations, refused_punctuations = _refuse(named, parsed.punctuations, parsed.record)
    dead = sorted(parsed.dead + refused_tuples + refused_punctuations)
    return replace(parsed, tuples=tuples, punctuations=punctuations, dead=dead)


def _refuse(
    named: Mapping[str, str], lines: ParsedLines, record: Record
) -> tuple[ParsedLines, list[DeadLine]]:
    """Separate the lines with a rejected document; `named` has the declared names of the XML columns."""
    reasons: dict[int, str] = {}
    for column in [name for name in lines.rows.schema.names if name in named]:
        for row, text in enumerate(lines.rows[column].to_pylist()):
            reason = fault_of(text) if text is not None and row not in reasons else None
            if reason is not None:
                reasons[row] = f"column {named[column]}: {reason}"
    if not reasons:
        return lines, []
    numbers = {row: int(lines.numbers[row]) for row in reasons}
    dead = [DeadLine(numbers[row], reason, record(numbers[row])) for row, reason in reasons.items()]
    alive = np.ones(len(lines), bool)
    alive[list(reasons)] = False
    return lines.take(alive), dead
