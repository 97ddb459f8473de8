"""Mutated documents and mutated XSCL: each is refused with a reason or works, and nothing else stops.

Law: every document that the parser finds at fault is a dead letter with a reason of one line, all others are
read, and streams beside them answer as always. Every text of a query is refused with its place, or runs.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

from seine.documents.parse_document import fault_of
from seine.errors import SeineError
from seine.run_local import run_local
from tests.support.seeds import seed_range, seeds

DOCUMENTS = (
    '<?xml version="1.0" encoding="utf-8"?><a id="x">w<b k="1">1</b><!-- c --><c>1</c><?p?><![CDATA[z]]></a>',
    '<book xmlns="urn:x" xmlns:n="urn:n"><author n:k="1">A</author><n:title>t</n:title></book>',
    '<!DOCTYPE a [<!ENTITY x "y"><!ELEMENT a ANY>]><a>&lt;b<b>1</b></a>',
    "<a>" + "<b>1</b>" * 20 + "</a>",
    "<a>" * 30 + "1" + "</a>" * 30,
)
PIECES = (
    *(
        "<",
        "</",
        ">",
        "/>",
        "&",
        "&x;",
        "&#0;",
        "&#xD800;",
        "&lt;",
        "]]>",
        "<![CDATA[",
        "<!--",
        "-->",
        "<?",
        "?>",
    ),
    *("<!DOCTYPE a SYSTEM '/etc/passwd'>", "<!DOCTYPE a [", "<!ENTITY % p SYSTEM 'file:///etc/passwd'> %p;"),
    *("xmlns:n=''", "xmlns='urn:q'", "n:", "\x00", "\x01", "\ufffe", "\ufeff", "\ud800", "é", "'", '"', "="),
    *("<xi:include xmlns:xi='http://www.w3.org/2001/XInclude' href='/etc/passwd' parse='text'/>", "a" * 500),
    *("<b>", "</b>", "<b>2</b>", " k='1'", " k='1' k='2'", " encoding='utf-16'", " version='1.1'", "text"),
)
SCRIPT = """\
CREATE STREAM s (doc XML, ts BIGINT) TIMESTAMP BY ts FROM 's.jsonl';
CREATE STREAM g (doc XML, ts BIGINT) TIMESTAMP BY ts FROM 'g.jsonl';
CREATE QUERY nodes AS XSCL $$ s//*->x//@*->k $$;
CREATE QUERY pairs AS XSCL $$ s//b->x FOLLOWED BY{x=y, 3} s//b->y PUBLISH p $$;
CREATE QUERY again AS XSCL $$ p//b->x JOIN{x=y, 2} s//c->y $$;
CREATE QUERY columns AS SELECT ts, xpath_string(doc, '//b') AS b, length(doc) AS l FROM s;
CREATE QUERY good AS XSCL $$ g//b->x FOLLOWED BY{x=y, 3} g//b->y $$;
"""
TEXTS = (
    "S//book[.//by->x2][.//title->x3] FOLLOWED BY{x2=x5 AND x3=x6, 9} S//blog[.//by->x5][.//title->x6]",
    "SELECT x, y/b FROM S/a->x[b->m] JOIN{m=n, INF} R.doc/a[b->n]->y PUBLISH p",
    "S//a[@id = 'x'][price > 10][contains(., 'w')]//b AS q",
    "SELECT * FROM S//a->x FOLLOWED BY{x//b = y/@k, 5} R//c->y JOIN{y = z AND x[b='1'] = z, 3} S//*->z",
    "S//Q{urn:x}a->x[n:b->y] JOIN{y=z, 0} S//n:*->z",
)
WORDS = (
    *(
        "->",
        "AS ",
        "x",
        "y",
        "S",
        "R",
        "//",
        "/",
        "@",
        "*",
        "[",
        "]",
        "{",
        "}",
        "=",
        ",",
        "AND ",
        "or ",
        "INF",
    ),
    *(
        "-1",
        "1e9",
        "9" * 20,
        "'",
        '"',
        "''",
        "contains(",
        "(",
        ")",
        ".",
        "..",
        "SELECT ",
        "FROM ",
        "PUBLISH ",
    ),
    *(
        "JOIN",
        "FOLLOWED BY",
        "$",
        "\x00",
        "\n",
        "--",
        "/*",
        ";",
        "é",
        "`",
        "x'",
        "n:",
        "Q{",
        "<",
        ">=",
        "[1]",
        "text()",
    ),
)
STREAMS = """\
CREATE STREAM S (doc XML, ts BIGINT) TIMESTAMP BY ts FROM 's.jsonl' WITH (namespaces = 'n=urn:n');
CREATE STREAM R (doc XML, other XML, ts BIGINT) TIMESTAMP BY ts WINDOW 50 FROM 'r.jsonl';
"""


def mutated(rng: random.Random, text: str, pieces: tuple[str, ...]) -> str:
    """The text with something put in, taken out or repeated, some times."""
    for _ in range(rng.choice((1, 1, 2, 3))):
        kind, at, size = rng.random(), rng.randrange(len(text) + 1), rng.randint(1, 6)
        if kind < 0.6:
            text = text[:at] + rng.choice(pieces) + text[at:]
        elif kind < 0.85:
            text = text[:at] + text[at + size :]
        else:
            text = text[:at] + text[at : at + 10] * rng.choice((2, 40)) + text[at + 10 :]
    return text


def _write(folder: Path, name: str, rows: list[dict[str, Any]]) -> None:
    (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


@seeds(6)
def test_documents(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    texts = [rng.choice(DOCUMENTS) for _ in range(16)]
    texts = [mutated(rng, text, PIECES) if rng.random() < 0.7 else text for text in texts]
    _write(tmp_path, "s", [{"doc": text, "ts": ts} for ts, text in enumerate(texts)])
    _write(tmp_path, "g", [{"doc": f"<a><b>{ts % 3}</b></a>", "ts": ts} for ts in range(12)])
    (tmp_path / "script.sql").write_text(SCRIPT)
    result = run_local(str(tmp_path / "script.sql"), batch_rows=rng.choice((None, 1, 5)))
    faults = [fault_of(text) for text in texts]
    assert len(result.dead) == sum(fault is not None for fault in faults), seed
    assert all("\n" not in one["reason"] and len(one["reason"]) < 300 for one in result.dead), seed
    counts = Counter(record["query"] for record in result.records)
    assert counts["columns"] == faults.count(None), seed
    assert counts["good"] == 9 and not any("failed" in one for one in result.stats["queries"].values()), seed


def test_some_mutated_documents_are_good_and_some_are_not() -> None:
    drawn = [random.Random(seed) for seed in seed_range(200)]
    faults = Counter(fault_of(mutated(rng, rng.choice(DOCUMENTS), PIECES)) is None for rng in drawn)
    assert faults[True] > 5 and faults[False] > 50


def test_texts_of_queries(tmp_path: Path) -> None:
    rows = [{"doc": "<a id='x'>w<b k='1'>1</b><c>1</c></a>", "ts": ts} for ts in range(4)]
    _write(tmp_path, "s", rows)
    _write(tmp_path, "r", rows)
    script, outcomes = tmp_path / "script.sql", Counter[str]()
    for seed in seed_range(100):
        rng = random.Random(seed)
        text = rng.choice(TEXTS)
        text = mutated(rng, text, WORDS) if rng.random() < 0.85 else text
        script.write_text(f"{STREAMS}CREATE QUERY q WITH (unbounded = true) AS XSCL $$ {text} $$;\n")
        refusal = _refusal(script)
        assert refusal is None or (refusal.where is not None and "\n" not in refusal.message), (seed, text)
        outcomes["ran" if refusal is None else "refused"] += 1
    assert min(outcomes["ran"], outcomes["refused"]) > 5, outcomes


def _refusal(script: Path) -> SeineError | None:
    try:
        run_local(str(script))
    except SeineError as refusal:
        return refusal
    return None
