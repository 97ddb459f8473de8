"""The parser of documents: what is accepted, what is refused and why, and that nothing is ever fetched."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from lxml import etree

from seine.documents import parse_document as module
from seine.documents.document import Document
from seine.documents.parse_document import DocumentFault, decode_document, fault_of, parse_document
from seine.documents.path_witnesses import WitnessFinder
from tests.support.cpu_limit import at_most_cpu_seconds


def namespaces(count: int, first: int = 0) -> str:
    return "".join(f' xmlns:n{n}="urn:{n}"' for n in range(first, first + count))


BOMB = "".join(f'<!ENTITY l{n + 1} "{f"&l{n};" * 10}">' for n in range(9))
REFUSED = [
    ("", "empty"),
    ("text", "Start tag expected"),
    ("<a>", "Premature end"),
    ("<a/><b/>", "Extra content"),
    ("<a><b></a>", "mismatch"),
    ("<a>\x00</a>", "Invalid character"),
    ("<a>&#0;</a>", "invalid xmlChar"),
    ("<a>\ud800</a>", "Invalid bytes"),
    ("<a>&nbsp;</a>", "uses the entity nbsp"),
    ('<a b="&nbsp;"/>', "uses the entity nbsp"),
    ('<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>', "uses the entity x"),
    ('<!DOCTYPE a [<!ENTITY x "y">]><a b="&x;"/>', "uses the entity x"),
    ('<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>', "uses the entity x"),
    ('<!DOCTYPE a [<!ENTITY p "&q;"><!ENTITY q "&p;">]><a>&p;</a>', "uses the entity p"),
    (f'<!DOCTYPE a [<!ENTITY l0 "ha">{BOMB}]><a>&l9;</a>', "uses the entity l9"),
    (f'<!DOCTYPE a [<!ENTITY l0 "ha">{BOMB}]><a b="&l9;"/>', "uses the entity l9"),
    ('<!DOCTYPE a [<!ENTITY % x SYSTEM "file:///etc/passwd"> %x;]><a/>', "uses the entity %x;"),
    ("<!DOCTYPE a [", "broken XML"),
    ("<p:a/>", "prefix p"),
    ('<a p:b="1"/>', "prefix p"),
    ('<a b="1" b="2"/>', "redefined"),
    (f"<a {'b' * 2_000}/>", "Specification mandates value for attribute bbb"),
    (f"<a>&{'b' * 2_000};</a>", "the document uses the entity bbb"),
    ("<a><![CDATA[\n\n b </a>", "CData section not finished b </, line 3"),
    ("<a>" * 257 + "</a>" * 257, "more than 256 elements within one another"),
    ("<a " + " ".join(f'x{n}="1"' for n in range(1_001)) + "/>", "more than 1,000 attributes"),
    ("<a y='>' " + " ".join(f"x{n} = '1'" for n in range(1_000)) + "/>", "more than 1,000 attributes"),
    (f"<a>{'x=1 ' * 1_500}<b{namespaces(1_001)}/></a>", "more than 1,000 attributes"),
    (f"<a{namespaces(100)}><b{namespaces(101, 100)}/></a>", "more than 200 namespaces declared around it"),
    (f"<a{namespaces(150)}><b{namespaces(60)}></a>", "broken XML"),
    ("<a>" + "y" * 10_000_000 + "</a>", "more than 10,000,000 bytes"),
    ("<a>" + "<b/>" * 500_000 + "</a>", "more than 500,000 tags"),
]
ACCEPTED = [
    "<a/>",
    f"<a><b{namespaces(150)}/><c{namespaces(150)}/></a>",
    f"<a>{'x=1 ' * 1_500}<b x='1'/></a>",
    "\ufeff<a/>",
    "<a>&amp;&#65;&lt;&gt;&quot;&apos;</a>",
    "<!DOCTYPE a><a/>",
    '<!DOCTYPE a [<!ENTITY x "y">]><a><![CDATA[&x;]]></a>',
    '<?xml version="1.0"?>\n<!DOCTYPE a PUBLIC "-//X//Y" "http://[::1]:9/x.dtd" [<!ELEMENT a ANY>]>\n<a/>',
    '<!DOCTYPE a [<!ATTLIST a b CDATA "default">]><a/>',
    "<a><!-- <!DOCTYPE a [ --></a>",
    '<?xml version="1.0" encoding="latin-1"?><a>é</a>',
    '<?xml version="1.0" encoding="utf-16"?><a>é</a>',
    "<a>" * 256 + "</a>" * 256,
    "<a " + " ".join(f'x{n}="1"' for n in range(1_000)) + "/>",
]


@pytest.mark.parametrize(("text", "reason"), REFUSED, ids=range(len(REFUSED)))
def test_refused(text, reason):
    fault = fault_of(text)
    assert fault is not None and reason in fault and "\n" not in fault and len(fault) < 200


def test_a_long_name_is_read_once_however_many_signs_are_before_it():
    """Read again from each of its letters it would take intake, and so everybody, hours."""
    with at_most_cpu_seconds(20):
        fault = fault_of("<a>" + "=" * 1_001 + "<" + "b" * 1_000_000)
    assert fault is not None and "broken XML" in fault


@pytest.mark.parametrize("text", ACCEPTED, ids=range(len(ACCEPTED)))
def test_what_is_accepted_can_be_evaluated(text):
    assert fault_of(text) is None
    assert Document(text).elements
    assert len(WitnessFinder({1: (("//", "*", False),)}).find([text]).values)


def test_a_doctype_has_no_effect():
    assert parse_document('<!DOCTYPE a [<!ATTLIST a b CDATA "default">]><a/>').attrib == {}
    assert parse_document("<!DOCTYPE a [<!ELEMENT a EMPTY>]><a><b/></a>").getroottree().docinfo.doctype == ""


class _Fetched(etree.Resolver):
    def resolve(self, url, public, context):
        raise AssertionError(f"{url} was asked for")


@pytest.mark.parametrize("place", ["{file}", "file://{file}", "http://127.0.0.1:{port}/x.dtd"])
@pytest.mark.parametrize(
    "text",
    [
        '<!DOCTYPE a SYSTEM "{place}"><a k="1">x</a>',
        '<!DOCTYPE a PUBLIC "-//X//Y" "{place}"><a k="1">x</a>',
        '<!DOCTYPE a SYSTEM "{place}" [<!ENTITY y "z">]><a k="1">&secret;</a>',
        '<!DOCTYPE a [<!ENTITY secret SYSTEM "{place}">]><a>&secret;</a>',
        '<!DOCTYPE a [<!ENTITY secret SYSTEM "{place}">]><a k="&secret;"/>',
        '<!DOCTYPE a [<!ENTITY % d SYSTEM "{place}"> %d;]><a>&secret;</a>',
        '<a xmlns:xi="http://www.w3.org/2001/XInclude"><xi:include href="{place}" parse="text"/></a>',
        '<?xml-stylesheet href="{place}"?><a/>',
        '<a xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:noNamespaceSchemaLocation="{place}"/>',
    ],
)
def test_nothing_is_fetched(tmp_path: Path, monkeypatch, text, place):
    canary = tmp_path / "canary.dtd"
    canary.write_text('<!ENTITY secret "canary"><!ATTLIST a c CDATA "canary">')
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.05)
        text = text.replace("{place}", place.format(file=canary, port=server.getsockname()[1]))
        for name in ("_WHOLE", "_VALUES"):
            parser = getattr(module, name)
            parser.resolvers.add(_Fetched())
        try:
            root = parse_document(text)
        except DocumentFault:
            root = None
        if root is not None:
            assert b"canary" not in etree.tostring(root).replace(str(canary).encode(), b"")
            assert b"canary" not in repr(dict(root.attrib)).encode().replace(str(canary).encode(), b"")
        with pytest.raises(TimeoutError):
            server.accept()


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("<a>é</a>".encode(), "<a>é</a>"),
        ("<a>é</a>".encode("utf-8-sig"), "<a>é</a>"),
        ("<a>é</a>".encode("utf-16"), "<a>é</a>"),
        ("<a>é</a>".encode("utf-32"), "<a>é</a>"),
        ("<?xml version='1.0' encoding='UTF-16'?><a>é</a>".encode("utf-16-be"), None),
        ('<?xml version="1.0" encoding="ISO-8859-1"?><a>é</a>'.encode("latin-1"), None),
        ('<?xml version="1.0" encoding="windows-1252"?><a>€</a>'.encode("cp1252"), None),
        ('<?xml version="1.0" encoding="Shift_JIS"?><a>日本</a>'.encode("shift-jis"), None),
    ],
)
def test_files_are_decoded_as_they_say(raw, text):
    decoded = decode_document(raw)
    assert fault_of(decoded) is None
    assert decoded.removeprefix("\ufeff") == text or text is None
    assert parse_document(decoded).text in ("é", "€", "日本")


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"<a>\xff</a>", "the document is not utf-8"),
        (b'<?xml version="1.0" encoding="nope"?><a/>', "unknown encoding nope"),
        (b'<?xml version="1.0" encoding="base64"?><a/>', "unknown encoding base64"),
        (b'<?xml version="1.0" encoding="punycode"?><a/>', "unknown encoding punycode"),
        (b'<?xml version="1.0" encoding="IDNA"?><a/>', "unknown encoding IDNA"),
        (b'<?xml version="1.0" encoding="unicode-escape"?><a/>', "unknown encoding unicode-escape"),
        (b'<?xml version="1.0" encoding="ascii"?><a>\xe9</a>', "the document is not ascii"),
        (b"\xff\xfe<", "the document is not utf-16-le"),
    ],
)
def test_wrong_encodings(raw, reason):
    with pytest.raises(DocumentFault) as fault:
        decode_document(raw)
    assert str(fault.value) == reason
