"""Inner joins go beneath outer, semi and anti joins where all tuples last, and nowhere else."""

from __future__ import annotations

import pytest

from seine.algebra.plan import Join, Plan, SetOperation, walk
from seine.frontends.script.parser import parse_script
from seine.optimizer.closing_groups import with_joins_beneath

_STREAMS = """\
CREATE STREAM a (k BIGINT, ts BIGINT) TIMESTAMP BY ts FROM 'a.jsonl';
CREATE STREAM b (k BIGINT, ts BIGINT) TIMESTAMP BY ts FROM 'b.jsonl';
CREATE STREAM c (k BIGINT, ts BIGINT) TIMESTAMP BY ts FROM 'c.jsonl';
CREATE STREAM w (k BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 5 FROM 'w.jsonl';
CREATE STREAM d (k BIGINT, ts BIGINT) TIMESTAMP BY ts RETRACTABLE FROM 'd.jsonl';
CREATE RELATION r (k BIGINT, name STRING) FROM 'r.jsonl';
"""
_RANGE = "a.k = {0}.k AND {0}.ts BETWEEN a.ts AND a.ts + 5"
_PUSHED = (
    f"a LEFT JOIN b ON {_RANGE.format('b')} JOIN c ON {_RANGE.format('c')}",
    f"a ANTI JOIN b ON {_RANGE.format('b')} JOIN c ON {_RANGE.format('c')}",
    f"a SEMI JOIN b ON {_RANGE.format('b')} JOIN c ON {_RANGE.format('c')}",
)
_LEFT_ALONE = (
    f"a JOIN b ON {_RANGE.format('b')} JOIN c ON {_RANGE.format('c')}",
    f"a LEFT JOIN b ON {_RANGE.format('b')}",
    f"a LEFT JOIN b ON {_RANGE.format('b')} JOIN r ON a.k = r.k",
    f"a LEFT JOIN b ON {_RANGE.format('b')} JOIN w ON {_RANGE.format('w')}",
    f"a LEFT JOIN b ON {_RANGE.format('b')} JOIN d ON {_RANGE.format('d')}",
    f"a LEFT JOIN b ON a.k = b.k JOIN c ON {_RANGE.format('c')}",
)


def _plan(joined: str) -> Plan:
    text = f"{_STREAMS}CREATE QUERY q AS SELECT a.ts AS t FROM {joined};"
    return parse_script(text, file="s", folder="/data").declarations.queries["q"].plan


def _joins_of_changing_rows(plan: Plan) -> int:
    """The joins whose inputs have rows that end when a partner comes."""
    return sum(
        any(isinstance(part, SetOperation) for side in join.inputs for part in walk(side))
        for join in walk(plan)
        if isinstance(join, Join)
    )


@pytest.mark.parametrize("joined", _PUSHED)
def test_every_join_is_one_of_tuples(joined: str) -> None:
    before = _plan(joined)
    after = with_joins_beneath(before)
    assert (_joins_of_changing_rows(before) > 0, _joins_of_changing_rows(after)) == (True, 0)
    assert any(isinstance(part, SetOperation) for part in walk(after))
    assert after.schema == before.schema
    assert with_joins_beneath(after) == after


@pytest.mark.parametrize("joined", _LEFT_ALONE)
def test_other_plans_stay_as_they_are(joined: str) -> None:
    before = _plan(joined)
    assert with_joins_beneath(before) == before
