"""Queries of documents are bounded by T or by windows of the streams that must wait; others are refused."""

from __future__ import annotations

import pytest

from seine.safety.verdict import verdict
from seine.safety.verdict_story import edges, safety_lines
from tests.support.front_end import parse

STREAMS = """\
CREATE STREAM s (doc XML, ts BIGINT) TIMESTAMP BY ts FROM 's.jsonl';
CREATE STREAM w (doc XML, ts BIGINT) TIMESTAMP BY ts WINDOW 9 FROM 'w.jsonl';
CREATE QUERY made AS XSCL $$ s//a->x JOIN{x=y, 5} s//b->y PUBLISH p $$;
CREATE QUERY brief AS XSCL $$ s//a->x JOIN{x=y, 5} w//b->y PUBLISH short $$;
"""
CASES = [  # query, what is freed, the cure
    ("s//a", {}, None),
    ("s//a->x JOIN{x=y, 5} s//b->y", {"s": True}, None),
    ("s//a->x FOLLOWED BY{x=y, 0} w//b->y", {"s": True, "w": True}, None),
    ("w//a->x FOLLOWED BY{x=y, INF} s//b->y", {"w": True, "s": True}, None),
    ("s//a->x FOLLOWED BY{x=y, INF} w//b->y", {"s": False, "w": True}, "a WINDOW on s, or"),
    ("w//a->x JOIN{x=y, INF} s//b->y", {"w": True, "s": False}, "a WINDOW on s, or"),
    ("w//a->x JOIN{x=y, INF} w//b->y", {"w": True}, None),
    ("p//a->x JOIN{x=y, INF} s//b->y", {"p": False, "s": False}, "a WINDOW on a stream that makes p and a"),
    ("short//a->x FOLLOWED BY{x=y, INF} s//b->y", {"short": True, "s": True}, None),
    # a combination lives no longer than any of its documents
    ("s//a->x JOIN{x=y, 5} w//b->y FOLLOWED BY{x=z, INF} s//c->z", {"s": True, "w": True}, None),
    ("s//a->x JOIN{x=y, INF} w//b->y FOLLOWED BY{x=z, 5} s//c->z", {"s": False, "w": True}, "WINDOW on s"),
]


@pytest.mark.parametrize(("text", "purgeable", "cure"), CASES)
def test_verdict(text, purgeable, cure):
    query = parse(f"{STREAMS}CREATE QUERY q AS XSCL $$ {text} $$;").declarations.queries["q"]
    judged = verdict(query)
    assert judged.purgeable == purgeable
    assert judged.safe == judged.accepted == (cure is None)
    if cure is not None:
        assert cure in (judged.hint or "") and "instead of INF" in (judged.hint or "")
    assert edges(query.plan) == []
    assert len(safety_lines(query.plan)) == 2 * text.count("{")
    assert any("never freed" in line for line in safety_lines(query.plan)) == (cure is not None)


def test_accepted_by_wish():
    text = "CREATE QUERY q WITH (unbounded = true) AS XSCL $$ s//a->x JOIN{x=y, INF} s//b->y $$;"
    judged = verdict(parse(STREAMS + text).declarations.queries["q"])
    assert (judged.safe, judged.accepted) == (False, True)
