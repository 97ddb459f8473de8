"""Documents that were kept for queries which have left are let go; those of the others stay."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from seine.operators.documents import held_documents
from tests.support.live_runs import Pipeline, read_story

SCRIPT = """\
CREATE STREAM s (doc XML, ts BIGINT) TIMESTAMP BY ts FROM 's.jsonl';
CREATE STREAM r (doc XML, ts BIGINT) TIMESTAMP BY ts FROM 'r.jsonl';
CREATE QUERY short AS XSCL $$ s//p->x FOLLOWED BY{x=y, 2} s//p->y $$;
CREATE QUERY long WITH (unbounded = true) AS XSCL $$ s//p->x JOIN{x=y, INF} s//p->y $$;
CREATE QUERY other WITH (unbounded = true) AS XSCL $$ s//q->x JOIN{x=y, INF} s//q->y $$;
CREATE QUERY across WITH (unbounded = true) AS XSCL $$ r//p->x JOIN{x=y, INF} s//p->y $$;
CREATE QUERY brief AS XSCL $$ s//p->x FOLLOWED BY{x=y, 1} r//p->y $$;
"""


def held(pipeline: Pipeline) -> int:
    """The documents that all nodes hold in all buckets."""
    names = ("docs0", "docs1")
    return sum(
        entry["rows"] for store in pipeline.stores() for name in names for entry in store.head.get(name, ())
    )


@pytest.mark.parametrize("at_once", [1_000, 3])
def test_dropping_frees(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    monkeypatch.setattr(held_documents, "_NARROWED_AT_ONCE", at_once)
    for name in "sr":
        lines = [{"doc": f"<d><p>{ts % 2}</p><q>{ts % 3}</q></d>", "ts": ts} for ts in range(80)]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)))
    (tmp_path / "script.sql").write_text(SCRIPT)
    story = read_story(tmp_path / "script.sql", tmp_path / "story", 2)
    pipeline = Pipeline(tmp_path / "live", story, live=True)
    for query in story.declarations.queries.values():
        pipeline.add(query)
    counts = []
    for number, input_ in enumerate(story.inputs[:-1]):
        for at, name in ((8, "long"), (10, "across"), (14, "other")):
            if number == at:
                pipeline.remove(name)
        pipeline.feed(input_)
        counts.append(held(pipeline))
    assert counts[7] == 48, "all sixteen documents of s in two nodes, and those of r in one"
    assert counts[38] <= 10 < counts[9], counts
    times = [
        (record["row"]["left_ts"], record["row"]["right_ts"])
        for entry in pipeline.records
        for record in entry
        if record["query"] == "short"
    ]
    assert sorted(times) == [(ts, ts + 2) for ts in range(78)]
