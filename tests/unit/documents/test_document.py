"""Items of feeds: which elements they are, and that namespaces around them cannot multiply without bound."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from seine.documents import document
from seine.documents.document import ParsedDocuments, feed_items
from seine.documents.parse_document import DocumentFault
from seine.documents.path_witnesses import WitnessFinder
from seine.documents.xpath_values import xpath_boolean, xpath_int, xpath_string
from seine.run_local import run_local

SCRIPT = """\
CREATE STREAM s (doc XML, ts BIGINT) TIMESTAMP BY ts FROM 's.jsonl';
CREATE QUERY pairs AS XSCL $$ s//b->x FOLLOWED BY{x=y, 4} s//b->y $$;
CREATE QUERY titles AS SELECT xpath_string(doc, 'a/b') AS b, xpath_int(doc, 'count(//b)') AS n FROM s;
CREATE QUERY some AS SELECT ts FROM s WHERE xpath_boolean(doc, 'a/b = 3');
"""


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("<rss><channel><item>1</item><item>2</item></channel></rss>", ["<item>1</item>", "<item>2</item>"]),
        ("<rss><channel><x><item>1</item></x></channel></rss>", []),
        ("<RDF><channel/><item>1</item></RDF>", ["<item>1</item>"]),
        (
            "<feed><entry><source><entry/></source></entry></feed>",
            ["<entry><source><entry/></source></entry>"],
        ),
        ('<feed xmlns="urn:f"><entry/></feed>', ['<entry xmlns="urn:f"/>']),
    ],
)
def test_items(text: str, items: list[str]) -> None:
    assert feed_items(text) == items


def test_namespaces_that_every_item_would_repeat(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document, "MOST_ITEM_CHARACTERS", 10_000)
    declared = "".join(f' xmlns:n{i}="urn:{i}"' for i in range(50))
    assert len(feed_items(f"<rss{declared}><channel>{'<item/>' * 8}</channel></rss>")) == 8
    with pytest.raises(DocumentFault, match="more than 10,000 characters"):
        feed_items(f"<rss{declared}><channel>{'<item/>' * 80}</channel></rss>")


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each document was parsed, but at intake and where whole blocks are evaluated."""
    counts: Counter[str] = Counter()
    parse = document.parse_document

    def counted(text: str, **how: bool):
        counts.update([text] if "comments" in how else [])
        return parse(text, **how)

    monkeypatch.setattr(document, "parse_document", counted)
    for name, value in vars(ParsedDocuments()).items():
        monkeypatch.setattr(document.PARSED, name, value)
    return counts


def test_all_expressions(parsed: Counter[str], monkeypatch: pytest.MonkeyPatch) -> None:
    text = "<a><b>1</b></a>"
    assert (xpath_string(text, "a/b"), xpath_int(text, "a/b"), xpath_boolean(text, "a/b")) == ("1", 1, True)
    assert parsed == {text: 1}
    monkeypatch.setattr(document, "_MOST_KEPT", 20)
    assert xpath_string("<c>7</c>", "c") == "7" and xpath_string(text, "a/b") == "1"
    assert len(document.PARSED._roots) == 1, "what is kept is bounded"


def test_witnesses_alone_keep_no_tree(parsed: Counter[str]) -> None:
    WitnessFinder({7: (("//", "b", False),)}).find(["<a><b>x</b></a>"])
    assert not document.PARSED._roots and parsed.total() == 1


def test_trees_with_namespaces_stay_as_they_are(parsed: Counter[str]) -> None:
    text = '<a xmlns="urn:x"><b>1</b></a>'
    assert xpath_string(text, "a/b") == "1"
    finder = WitnessFinder({1: (("//", "b", False),), 2: (("//", "{urn:x}b", False),)})
    assert finder.find([text]).patterns.tolist() == [2]
    assert parsed == {text: 1}


@pytest.mark.parametrize("batch_rows", [1, 3])
def test_xscl_and_sql(parsed: Counter[str], tmp_path: Path, batch_rows: int) -> None:
    documents = [f"<a><b>{number % 4}</b><!-- {number} --></a>" for number in range(12)]
    lines = [json.dumps({"doc": text, "ts": ts}) for ts, text in enumerate(documents)]
    (tmp_path / "s.jsonl").write_text("\n".join(lines))
    (tmp_path / "script.sql").write_text(SCRIPT)
    result = run_local(str(tmp_path / "script.sql"), batch_rows=batch_rows)
    assert {record["query"] for record in result.records} == {"pairs", "titles", "some"}
    again = [text for text, count in parsed.items() if count > 1]
    assert len(parsed) == 12 and len(again) <= batch_rows, "from the second batch on, one parse a document"
