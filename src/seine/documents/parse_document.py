"""The one parser of documents: it judges them at intake, and reads them again wherever they are evaluated.

Law: what intake accepts, every later task can parse, and nothing outside the text is ever read.

- Entities: XML's five and character references. A document that uses another one is refused.
- A DOCTYPE is read past and left out: nothing that it declares or points to has any effect.
- Limits: `LARGEST_DOCUMENT`, `MOST_TAGS`, `DEEPEST`, `MOST_ATTRIBUTES`, `MOST_NAMESPACES`.
- Namespaces: a prefix that is not declared makes a document faulty.
- Encodings: a text is text already, whatever its XML declaration says; `decode_document` honours it in files.

The parser is libxml2, by lxml, which refuses depth, text nodes and names beyond its own limits. It is never
given a DOCTYPE: with some options it would load what that names. Expat finds where the DOCTYPE ends.
"""

from __future__ import annotations

import codecs
import re
from xml.parsers import expat

from lxml import etree

LARGEST_DOCUMENT = 10_000_000  # bytes of UTF-8
MOST_TAGS = 500_000  # signs "<" of one document; a tree takes some 200 bytes for each
DEEPEST = 256  # elements within one another; libxml2's own limit
MOST_ATTRIBUTES = 1_000  # of one element, declarations of namespaces counted
MOST_NAMESPACES = (
    200  # declared around one element: what is printed of a document repeats them, and compares each two
)
_LONGEST_REASON = 160  # characters

_OPTIONS = {
    "encoding": "utf-8",
    "resolve_entities": False,
    "no_network": True,
    "load_dtd": False,
    "dtd_validation": False,
    "huge_tree": False,
}
_WHOLE = etree.XMLParser(**_OPTIONS)  # what is printed keeps comments
_VALUES = etree.XMLParser(**_OPTIONS, remove_comments=True, remove_pis=True)
_UNDECLARED = re.compile(r"Entity '([^']*)' not defined")
_PARAMETER = re.compile(rb"%[^\s%;'\"]+;")
_CROWDED = re.compile(
    rb"<([^\s<>/=]++)[^<=]*+(?:=[^<=]*+){%d}" % (MOST_ATTRIBUTES + 1)
)  # nothing is read twice
_ATTRIBUTE = re.compile(rb"\s+[^\s=<>/]+\s*=\s*(?:\"[^\"]*\"|'[^']*')")
_PLACE = re.compile(r", line \d+, column \d+.*", re.DOTALL)
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (b"<\x00?\x00", "utf-16-le"),
    (b"\x00<\x00?", "utf-16-be"),
)
_NO_ENCODINGS = {"idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined"}  # that Python adds
_DECLARED = re.compile(rb"""<\?xml[^>]*?\sencoding\s*=\s*["']([A-Za-z][\w.-]*)["']""")


class DocumentFault(ValueError):
    """Why a text is no acceptable document, in one line that is never long, whatever the document says."""

    def __init__(self, reason: str) -> None:
        line = " ".join(reason.split())
        super().__init__(line if len(line) <= _LONGEST_REASON else f"{line[:_LONGEST_REASON]}...")


def parse_document(text: str, *, comments: bool = True) -> etree._Element:
    """The root element of a document; without `comments` its text nodes are whole. Raises a DocumentFault.

    >>> parse_document("<a>&lt;</a>").text
    '<'
    """
    raw = text.encode("utf-8", "surrogatepass")
    if len(raw) > LARGEST_DOCUMENT:
        raise DocumentFault(f"the document has more than {LARGEST_DOCUMENT:,} bytes")
    if raw.count(b"<") > MOST_TAGS:
        raise DocumentFault(f"the document has more than {MOST_TAGS:,} tags")
    if b"<!DOCTYPE" in raw:
        raw = _without_doctype(raw)
    if raw.count(b"=") > MOST_ATTRIBUTES:
        _refuse_attributes(raw)
    try:
        if raw.count(b"xmlns") > MOST_NAMESPACES:
            _refuse_namespaces(raw)
        return etree.fromstring(raw, _WHOLE if comments else _VALUES)
    except etree.XMLSyntaxError as error:
        raise DocumentFault(_reason(error)) from None


def _refuse_attributes(raw: bytes) -> None:
    """Refuse an element with too many attributes, before they are parsed. No tag has a `<` within it."""
    for crowded in _CROWDED.finditer(raw):
        at, count = crowded.end(1), 0
        while (attribute := _ATTRIBUTE.match(raw, at)) is not None:
            at, count = attribute.end(), count + 1
            if count > MOST_ATTRIBUTES:
                raise DocumentFault(f"an element has more than {MOST_ATTRIBUTES:,} attributes")


def _refuse_namespaces(raw: bytes) -> None:
    """Refuse an element with too many namespaces around it."""
    parser = etree.XMLPullParser(events=("start-ns", "end-ns"), **_OPTIONS)
    parser.feed(raw)
    count = 0
    for event, _ in parser.read_events():
        count += 1 if event == "start-ns" else -1
        if count > MOST_NAMESPACES:
            raise DocumentFault(f"an element has more than {MOST_NAMESPACES:,} namespaces declared around it")


def fault_of(text: str) -> str | None:
    """The reason why a text is not an acceptable document; None if it is one.

    >>> fault_of("<a>&lt;</a>"), fault_of("<a>")
    (None, 'broken XML: Premature end of data in tag a line 1, line 1')
    >>> fault_of('<!DOCTYPE a [<!ENTITY x "y">]><a b="&x;"/>')
    'the document uses the entity x'
    """
    try:
        parse_document(text, comments=False)
    except DocumentFault as fault:
        return str(fault)
    return None


def decode_document(raw: bytes) -> str:
    """The text of a file: by its byte order mark, else by its XML declaration, else as UTF-8.

    >>> decode_document('<?xml version="1.0" encoding="latin-1"?><a>é</a>'.encode("latin-1"))[-6:]
    '>é</a>'
    """
    mark, encoding = next((pair for pair in _MARKS if raw.startswith(pair[0])), (b"", ""))
    if not encoding:
        declared = _DECLARED.match(raw)
        encoding = "utf-8" if declared is None else declared[1].decode("ascii")
    try:
        known = codecs.lookup(encoding)
        if not known._is_text_encoding or known.name.replace("-", "_") in _NO_ENCODINGS:
            raise LookupError
        return known.decode(raw.removeprefix(mark) if not mark.startswith((b"<", b"\x00<")) else raw)[0]
    except LookupError:
        raise DocumentFault(f"unknown encoding {encoding}") from None
    except UnicodeError:
        raise DocumentFault(f"the document is not {encoding}") from None


class _DoctypeEnd(Exception):
    pass


def _without_doctype(raw: bytes) -> bytes:
    """A document without its DOCTYPE; unchanged if the word only stands in its text."""
    parser = expat.ParserCreate("utf-8")
    parser.DefaultHandler = _ignore  # with it, expat leaves entities alone

    def stop(*_: object) -> None:
        raise _DoctypeEnd

    parser.EndDoctypeDeclHandler = stop
    parser.StartElementHandler = stop
    has_doctype: list[bool] = []
    parser.StartDoctypeDeclHandler = lambda *_: has_doctype.append(True)
    try:
        parser.Parse(raw, True)
    except _DoctypeEnd:
        end = parser.CurrentByteIndex if has_doctype else 0
        used = _PARAMETER.search(raw, 0, end)
        if used is not None:
            raise DocumentFault(
                f"the document uses the entity {used[0].decode('utf-8', 'replace')}"
            ) from None
        return raw[end:].removeprefix(b">")
    except expat.ExpatError as error:
        message = f"broken XML: {expat.ErrorString(error.code)} at line {error.lineno}"
        raise DocumentFault(message) from None
    return raw


def _ignore(data: str) -> None:
    pass


def _reason(error: etree.XMLSyntaxError) -> str:
    message = error.msg or "not XML"
    undeclared = _UNDECLARED.search(message)
    if undeclared is not None:
        return f"the document uses the entity {undeclared[1]}"
    if "Excessive depth" in message:
        return f"the document has more than {DEEPEST} elements within one another"
    return f"broken XML: {_PLACE.sub('', message).strip()}, line {error.lineno}"
