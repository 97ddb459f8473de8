"""Validation of XML columns: a malformed document, or one that uses declared entities, makes a dead letter.

Nothing is ever fetched, and no declared entity is expanded.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from xml.parsers import expat

import numpy as np

from seine.algebra.types import Kind
from seine.intake.parsed import DeadLine, Parsed, ParsedLines, Record
from seine.intake.record_layout import RecordLayout

_REFERENCE = re.compile(r"&([^;&<\s#]+);")


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


def fault_of(text: str) -> str | None:
    """The reason why a text is not an acceptable document; None if it is one.

    >>> fault_of("<a>&lt;</a>"), fault_of("<a>")
    (None, 'broken XML: no element found at line 1')
    >>> fault_of('<!DOCTYPE a [<!ENTITY x "y">]><a b="&x;"/>')
    'the document uses the entity x'
    """
    parser = expat.ParserCreate("utf-8")
    declared: set[str] = set()
    skipped: list[str] = []
    body = [0]
    parser.EntityDeclHandler = lambda name, parameter, *rest: declared.add(name) if not parameter else None
    parser.SkippedEntityHandler = lambda name, parameter: skipped.append(name)
    parser.DefaultHandler = lambda data: None  # with it, expat leaves entities in content alone
    parser.EndDoctypeDeclHandler = lambda: body.__setitem__(0, parser.CurrentByteIndex)
    raw = text.encode()
    try:
        parser.Parse(raw, True)
    except expat.ExpatError as error:
        return f"broken XML: {expat.ErrorString(error.code)} at line {error.lineno}"
    used = [
        name for name in _REFERENCE.findall(raw[body[0] :].decode("utf-8", "replace")) if name in declared
    ]
    return f"the document uses the entity {[*used, *skipped][0]}" if used or skipped else None
