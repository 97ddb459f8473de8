"""FORMAT XML: files as documents, feeds as documents by item, dead letters, resuming, following."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from seine.errors import SeineError
from seine.frontends.script.parser import parse_script
from seine.intake.intake import Intake
from seine.intake.journal import Journal
from seine.intake.xml_records import iso_time
from seine.storage.local import LocalStore
from tests.support.front_end import refusal

STREAM = "CREATE STREAM s ({columns}) TIMESTAMP BY ts {more} FROM 'inbox' FORMAT XML {options};"
PLAIN = "doc XML, ts BIGINT"
RSS = """<?xml version="1.0"?>
<rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/"><channel><title>News</title>
<item><title>third</title><pubDate>Tue, 10 Jun 2003 04:00:00 GMT</pubDate></item>
<item><title>first</title><pubDate>Sun, 08 Jun 2003 04:00:00 GMT</pubDate></item>
<item><title>none</title></item>
<item><title>second</title><dc:date>2003-06-09T04:00:00Z</dc:date></item>
</channel></rss>"""
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom"><title>t</title><updated>2003-12-13T18:30:02Z</updated>
<entry><title>late</title><updated>2003-12-13T18:30:02Z</updated></entry>
<entry><title>early</title><published>2003-12-12T00:00:00+02:00</published></entry></feed>"""
RDF = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/">
<channel><title>c</title></channel><item rdf:about="x"><title>a</title><ts>5</ts></item></rdf:RDF>"""


class Inbox:
    """A folder of files, and the entries that intake makes of them."""

    def __init__(self, tmp_path: Path) -> None:
        self.folder, self.journal = tmp_path / "inbox", tmp_path / "journal"
        self.folder.mkdir()
        self.tmp_path = tmp_path

    def put(self, **files: str | bytes) -> None:
        for name, content in files.items():
            path = self.folder / f"{name}.xml"
            path.write_bytes(content if isinstance(content, bytes) else content.encode())

    def intake(self, columns: str = PLAIN, options: str = "", more: str = "", **how) -> Intake:
        text = STREAM.format(columns=columns, options=options, more=more)
        script = parse_script(text, file="s.sql", folder=str(self.tmp_path))
        return Intake([script.declarations.streams["s"]], Journal(LocalStore(str(self.journal))), **how)


def rows(intake: Intake) -> tuple[list[tuple], list[str]]:
    """All rows that there are now, and the reasons of dead letters with the number of the document."""
    values: list[tuple] = []
    reasons: list[str] = []
    while (entry := intake.next_entry()) is not None:
        reasons += [f"{letter['line']}: {letter['reason']}" for letter in entry.dead_letters()]
        batch = entry.batch("s")
        if batch is not None:
            values += [tuple(row[f"c{n}"] for n in range(3) if f"c{n}" in row) for row in batch.to_pylist()]
    return values, reasons


@pytest.fixture
def inbox(tmp_path: Path) -> Inbox:
    return Inbox(tmp_path)


def test_a_file_is_a_document(inbox: Inbox):
    inbox.put(b="<a><ts>2</ts></a>", a="<a><x/><ts> 1 </ts></a>", c="<a><TS>3</TS></a>")
    (inbox.folder / "_hidden.xml").write_text("<a><ts>9</ts></a>")
    assert rows(inbox.intake()) == (
        [("<a><x/><ts> 1 </ts></a>", 1), ("<a><ts>2</ts></a>", 2), ("<a><TS>3</TS></a>", 3)],
        [],
    )


def test_columns_by_paths(inbox: Inbox):
    inbox.put(a='<m xmlns:p="urn:p" id="7"><h><p:at>5</p:at></h><name> Ann </name></m>')
    options = "WITH (ts = '//p:at', id = '/m/@id', namespaces = 'p=urn:p')"
    columns = "name STRING, id BIGINT, ts BIGINT, doc XML"
    values, dead = rows(inbox.intake(columns, options))
    assert values == [(" Ann ", 7, 5)] and not dead


@pytest.mark.parametrize(
    ("path", "value"), [("at", 4), ("/m/at", 4), ("//x/at", 8), ("//p:at", 4), ("//*/at", 4)]
)
def test_namespaces_ignored(inbox: Inbox, path, value):
    inbox.put(a='<m xmlns="urn:p"><at>4</at><x><at>8</at></x></m>')
    options = f"WITH (ts = '{path}', namespaces = 'ignore')"
    assert [row[1] for row in rows(inbox.intake(options=options))[0]] == [value]


def test_what_is_wrong_is_a_dead_letter_and_nothing_else_stops(inbox: Inbox):
    inbox.put(
        a="<a><ts>1</ts></a>",
        b="<a><ts>2</ts>",
        c="<a><ts>x</ts></a>",
        d="<a/>",
        e='<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a><ts>5</ts>&x;</a>',
        f=b"<a>\xff<ts>6</ts></a>",
        g="",
        h='<?xml version="1.0" encoding="latin-1"?><a>é<ts>8</ts></a>'.encode("latin-1"),
        i="<a>é<ts>9</ts></a>".encode("utf-16"),
    )
    values, dead = rows(inbox.intake())
    assert [row[1] for row in values] == [1, 8, 9] and all("é" in row[0] for row in values[1:])
    assert [reason.partition(":")[2].strip() for reason in dead] == [
        "broken XML: Premature end of data in tag a line 1, line 1",
        "column ts: the text is no BIGINT",
        "the timestamp is NULL",
        "the document uses the entity x",
        "the document is not utf-8",
        "broken XML: Document is empty, line 1",
    ]


def test_items_of_a_feed_come_by_their_times(inbox: Inbox):
    inbox.put(a=RSS)
    values, dead = rows(inbox.intake("title STRING, doc XML, ts TIMESTAMP", "WITH (feed = 'true')"))
    assert [row[0] for row in values] == ["first", "second", "third"]
    assert values[0][1].startswith("<item xmlns:dc=") and str(values[1][2]) == "2003-06-09 04:00:00+00:00"
    assert dead == ["1: the timestamp is NULL"]


def test_atom_and_rdf(inbox: Inbox):
    inbox.put(a=ATOM)
    columns, options = "title STRING, ts TIMESTAMP, doc XML", "WITH (feed = 'true', namespaces = 'ignore')"
    values, dead = rows(inbox.intake(columns, options))
    assert [(title, str(at)) for title, at, _ in values] == [
        ("early", "2003-12-11 22:00:00+00:00"),
        ("late", "2003-12-13 18:30:02+00:00"),
    ]
    assert not dead


def test_a_feed_with_plain_times(inbox: Inbox):
    inbox.put(a=RDF, b="<html/>", c="<rss><channel/></rss>")
    values, dead = rows(inbox.intake("title STRING, ts BIGINT, doc XML", "WITH (feed = 'true')"))
    assert [row[:2] for row in values] == [("a", 5)] and "rdf:about" in values[0][2]
    assert dead == ["1: no RSS or Atom feed: its root element is html"]


@pytest.mark.parametrize("batch_rows", [1, 2, 3, None])
def test_resumed_in_the_middle_of_a_feed(inbox: Inbox, batch_rows):
    items = "".join(f"<item><ts>{9 - n}</ts></item>" for n in range(7))
    inbox.put(
        a=f"<rss><channel>{items}</channel></rss>", b="<rss><channel><item><ts>20</ts></item></channel></rss>"
    )
    how = {"columns": "ts BIGINT, doc XML", "options": "WITH (feed = 'true')"}
    times: list[int] = []
    while True:
        entry = inbox.intake(**how, batch_rows=batch_rows).next_entry()  # a new process for each entry
        if entry is None:
            break
        batch = entry.batch("s")
        times += batch.column("c0").to_pylist() if batch is not None else []
    assert times == [3, 4, 5, 6, 7, 8, 9, 20]


def test_a_replaced_feed_is_an_error(inbox: Inbox):
    items = "".join(f"<item><ts>{n}</ts></item>" for n in range(5))
    inbox.put(a=f"<rss><channel>{items}</channel></rss>")
    how = {"columns": "ts BIGINT, doc XML", "options": "WITH (feed = 'true')", "batch_rows": 2}
    assert inbox.intake(**how).next_entry() is not None
    inbox.put(a=f"<rss><channel>{items}{items}</channel></rss>")
    with pytest.raises(SeineError, match="was replaced after 2 of its 5 items"):
        rows(inbox.intake(**how))


def test_a_followed_folder(inbox: Inbox):
    inbox.put(b="<a><ts>1</ts></a>")
    intake = inbox.intake(follow=True)
    assert rows(intake)[0] == [("<a><ts>1</ts></a>", 1)]
    inbox.put(a="<a><ts>2</ts></a>", c="<a><ts>3</ts>")
    assert rows(intake) == ([("<a><ts>2</ts></a>", 2)], []), "a broken file may be written still"
    inbox.put(c="<a><ts>3</ts></a>")
    assert rows(intake)[0] == [("<a><ts>3</ts></a>", 3)]
    inbox.put(d="<a><ts>4</ts>")
    old = time.time() - 60
    os.utime(inbox.folder / "d.xml", (old, old))
    again = inbox.intake(follow=True)  # a new process
    values, dead = rows(again)
    assert values == [] and len(dead) == 1 and "broken XML" in dead[0]
    assert rows(inbox.intake(follow=True)) == ([], [])


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("Sat, 07 Sep 2002 00:00:01 GMT", "2002-09-07T00:00:01Z"),
        ("7 Sep 02 00:00 EST", "2002-09-07T05:00:00Z"),
        ("Sat, 07 Sep 2002 00:00:01 -0000", "2002-09-07T00:00:01Z"),
        ("2002-09-07T00:00:01+02:00", "2002-09-07T00:00:01+02:00"),
        ("yesterday", "yesterday"),
        ("Sat, 99 Sep 2002 00:00:01 GMT", "Sat, 99 Sep 2002 00:00:01 GMT"),
        ("Fri, 31 Dec 9999 23:59:59 -1200", "Fri, 31 Dec 9999 23:59:59 -1200"),
    ],
)
def test_dates_of_feeds(text, iso):
    assert iso_time(text) == iso


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ("ts BIGINT", "", "FORMAT XML needs one column of type XML"),
        ("a XML, b XML, ts BIGINT", "", "FORMAT XML needs one column of type XML"),
        (PLAIN, "WITH (ts = '/a[1]')", "is no path"),
        (PLAIN, "WITH (ts = '/a/@b/c')", "is no path"),
        (PLAIN, "WITH (ts = ' ')", "the path is empty"),
        (PLAIN, "WITH (ts = '/p:a')", "prefix p is not declared"),
        (PLAIN, "WITH (doc = '/a')", "no option doc"),
        (PLAIN, "WITH (feed = 'yes')", "option feed is"),
        (PLAIN, "WITH (namespaces = 'x')", "namespaces are 'ignore', or prefix=namespace"),
    ],
)
def test_refused(columns, options, message):
    assert message in refusal(STREAM.format(columns=columns, options=options, more="")).message
