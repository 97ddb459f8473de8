"""`seine explain SCRIPT --witnesses FILE`: the witness relations of the documents of a file."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence

from seine.algebra.definitions import Source, StreamDef
from seine.algebra.document_plan import DocumentQuery, is_published
from seine.algebra.types import Kind
from seine.documents.document import Document
from seine.documents.match_pattern import TooManyBindings
from seine.documents.parse_document import DocumentFault, decode_document
from seine.documents.witness_tables import MOST_SHOWN, print_tables, witness_tables
from seine.errors import SeineError
from seine.frontends.script.script import Declarations
from seine.intake.files import Files
from seine.intake.record_layout import RecordLayout
from seine.intake.xml_records import DocumentColumns


def witnesses_text(declarations: Declarations, file: str) -> str:
    """R_binW, R_docW and R_docTSW of each document of a file, which is XML or JSON Lines of a stream.

    Where a stream reads the file, the blocks over that stream count and its documents are those that it makes
    of the file (the items of a feed, by time); else all blocks do.
    """
    plans = {q.name: q.plan for q in declarations.queries.values() if isinstance(q.plan, DocumentQuery)}
    if not plans:
        raise SeineError("this script has no XSCL query", hint="witnesses are of the blocks of XSCL queries")
    known = {block.input.stream.name: block.input.stream for plan in plans.values() for block in plan.blocks}
    fed = [stream for stream in known.values() if _reads(stream, file)]
    names = [stream.name for stream in fed]
    parts = []
    for place, (text, timestamp) in enumerate(_documents(declarations, fed, file), 1):
        try:
            tables = witness_tables(plans, Document(text), names or known)
        except DocumentFault as fault:
            raise SeineError(f"{file}: document {place}: {fault}") from None
        except TooManyBindings:
            hint = "print the witnesses of a smaller document"
            raise SeineError(
                f"{file}: document {place}: more than {MOST_SHOWN:,} bindings", hint=hint
            ) from None
        parts.append(print_tables(tables, f"d{place}", timestamp))
    return "\n\n".join(parts) + "\n"


def _reads(stream: StreamDef, file: str) -> bool:
    """Whether a file is one of those that a stream reads."""
    if stream.source is None or is_published(stream):
        return False
    return os.path.abspath(file) in map(os.path.abspath, Files(stream.source.path).listing())


def _documents(declarations: Declarations, fed: Sequence[StreamDef], file: str) -> Iterator[tuple[str, str]]:
    """The documents of a file, which some streams read, each with its time as text."""
    try:
        with open(file, "rb") as opened:
            raw = opened.read()
        text = decode_document(raw)
    except (OSError, DocumentFault) as error:
        raise SeineError(f"{file}: {getattr(error, 'strerror', None) or error}") from None
    sources = [(stream, stream.source) for stream in fed if stream.source and stream.source.format == "XML"]
    if sources:
        yield from _made_of(*sources[0], text, file)
        return
    if text.lstrip().startswith("<"):
        yield text, "-"
        return
    yield from _of_lines(declarations, text, file)


def _made_of(stream: StreamDef, source: Source, text: str, file: str) -> Iterator[tuple[str, str]]:
    """The documents that a stream makes of a file."""
    columns = DocumentColumns(RecordLayout.of(stream), source)
    try:
        for document in columns.documents(text):
            yield document, (columns.texts(document)[stream.time] or "-").strip()
    except DocumentFault as fault:
        raise SeineError(f"{file}: {fault}") from None


def _of_lines(declarations: Declarations, text: str, file: str) -> Iterator[tuple[str, str]]:
    streams = declarations.streams.values()
    documents = {f.name for stream in streams for f in stream.fields if f.type.kind is Kind.XML}
    times = {stream.fields[stream.time].name for stream in streams}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            document = next(record[name] for name in record if name in documents)
        except (ValueError, TypeError, StopIteration):
            hint = "it is an XML document, or JSON Lines of a stream of the script"
            raise SeineError(f"{file}: line {number} has no document", hint=hint) from None
        yield str(document), str(next((record[name] for name in record if name in times), "-"))
