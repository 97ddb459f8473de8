"""XML columns: a value that is no well-formed document, or uses entities of its own, kills its row.

Nothing is ever fetched and no declared entity is expanded into content.
"""

from __future__ import annotations

import re
from dataclasses import replace
from xml.parsers import expat

import numpy as np

from seine.algebra.types import Kind
from seine.intake.layout import Layout
from seine.intake.parsed import DeadLine, Parsed

_REFERENCE = re.compile(r"&([^;&<\s#]+);")


def refuse_documents(layout: Layout, parsed: Parsed) -> Parsed:
    """The rows whose documents are all sound; the others become dead lines."""
    columns = [i for i, field in enumerate(layout.fields) if field.type.kind is Kind.XML]
    reasons: dict[int, str] = {}
    for column in columns:
        for row, text in enumerate(parsed.rows.column(column).to_pylist()):
            reason = fault_of(text) if text is not None and row not in reasons else None
            if reason is not None:
                reasons[row] = f"column {layout.fields[column].name}: {reason}"
    if not reasons:
        return parsed
    lines = {row: int(parsed.lines[row]) for row in reasons}
    dead = [DeadLine(lines[row], reason, parsed.record(lines[row])) for row, reason in reasons.items()]
    alive = np.ones(len(parsed.lines), bool)
    alive[list(reasons)] = False
    return replace(parsed.take(alive), dead=sorted(parsed.dead + dead))


def fault_of(text: str) -> str | None:
    """Why a text is not a document that Seine takes; None if it is one.

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
