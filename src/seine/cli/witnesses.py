"""`seine explain SCRIPT --witnesses FILE`: the witness relations of the documents of a file."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

from seine.algebra.document_plan import DocumentQuery
from seine.algebra.types import Kind
from seine.documents.document import Document
from seine.documents.match_pattern import TooManyBindings
from seine.documents.parse_document import DocumentFault, decode_document
from seine.documents.witness_tables import MOST_SHOWN, print_tables, witness_tables
from seine.errors import SeineError
from seine.frontends.script.script import Declarations


def witnesses_text(declarations: Declarations, file: str) -> str:
    """R_binW, R_docW and R_docTSW of each document of a file, which is XML or JSON Lines of a stream.

    Where the file is the source of a stream, the blocks over that stream count, else all.
    """
    plans = {q.name: q.plan for q in declarations.queries.values() if isinstance(q.plan, DocumentQuery)}
    if not plans:
        raise SeineError("this script has no XSCL query", hint="witnesses are of the blocks of XSCL queries")
    known = {block.input.stream.name: block.input.stream for plan in plans.values() for block in plan.blocks}
    path = os.path.abspath(file)
    fed = [name for name, stream in known.items() if stream.source and stream.source.path == path]
    parts = []
    for place, (text, timestamp) in enumerate(_documents(declarations, file), 1):
        try:
            tables = witness_tables(plans, Document(text), fed or known)
        except DocumentFault as fault:
            raise SeineError(f"{file}: document {place}: {fault}") from None
        except TooManyBindings:
            hint = "print the witnesses of a smaller document"
            raise SeineError(
                f"{file}: document {place}: more than {MOST_SHOWN:,} bindings", hint=hint
            ) from None
        parts.append(print_tables(tables, f"d{place}", timestamp))
    return "\n\n".join(parts) + "\n"


def _documents(declarations: Declarations, file: str) -> Iterator[tuple[str, str]]:
    """The documents of a file, each with its time as text."""
    try:
        with open(file, "rb") as opened:
            raw = opened.read()
        text = decode_document(raw)
    except (OSError, DocumentFault) as error:
        raise SeineError(f"{file}: {getattr(error, 'strerror', None) or error}") from None
    if text.lstrip().startswith("<"):
        yield text, "-"
        return
    streams = declarations.streams.values()
    documents = {f.name for stream in streams for f in stream.fields if f.type.kind is Kind.XML}
    times = {stream.fields[stream.time].name for stream in streams}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            document = next(record[name] for name in record if name in documents)
        except (ValueError, TypeError, StopIteration):
            hint = "it is an XML document, or JSON Lines of a stream of the script"
            raise SeineError(f"{file}: line {number} has no document", hint=hint) from None
        yield str(document), str(next((record[name] for name in record if name in times), "-"))
