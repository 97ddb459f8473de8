"""Comparisons with ALL and ANY of sub-queries, LATERAL, rows without FROM: by brute force on live tuples."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

from seine.run_local import run_local
from tests.support.seeds import seeds

_LIFE = 8
_STREAMS = "".join(
    f"CREATE STREAM {name} (k BIGINT, x BIGINT, ts BIGINT)"
    f" TIMESTAMP BY ts WINDOW {_LIFE} FROM '{name}.jsonl';\n"
    for name in ("a", "b")
)
Tuples = list[dict[str, Any]]
Answer = Callable[[Tuples, Tuples], Iterator[tuple]]


def _truth(one: int | None, word: str, others: list[int | None], is_all: bool) -> bool | None:
    """Three-valued: ALL is the AND of all comparisons, ANY their OR."""
    comparisons = {">": int.__gt__, ">=": int.__ge__, "<": int.__lt__, "<=": int.__le__}
    compare = {**comparisons, "<>": int.__ne__, "=": int.__eq__}[word]
    truths = [None if one is None or other is None else compare(one, other) for other in others]
    if (not is_all) in truths:
        return not is_all
    return None if None in truths else is_all


def _of_key(a: dict[str, Any], bs: Tuples) -> list[int | None]:
    return [b["x"] for b in bs if a["k"] is not None and b["k"] == a["k"]]


def _quantified(word: str, quantifier: str, negated: bool, tied: bool) -> tuple[str, Answer]:
    where = " WHERE b.k = a.k" if tied else ""
    text = f"a.x {word} {quantifier} (SELECT b.x FROM b{where})"
    text = f"NOT ({text})" if negated else text

    def answer(as_: Tuples, bs: Tuples) -> Iterator[tuple]:
        for a in as_:
            others = _of_key(a, bs) if tied else [b["x"] for b in bs]
            truth = _truth(a["x"], word, others, quantifier == "ALL")
            if truth is not None and truth != negated:
                yield a["k"], a["x"]

    return f"SELECT a.k, a.x FROM a WHERE {text}", answer


def _lateral_top(as_: Tuples, bs: Tuples) -> Iterator[tuple]:
    for a in as_:
        values = sorted((x for x in _of_key(a, bs) if x is not None), reverse=True)
        yield from ((a["x"], value) for value in values[:2])


def _lateral_left(as_: Tuples, bs: Tuples) -> Iterator[tuple]:
    for a in as_:
        values = [x for x in _of_key(a, bs) if x is not None and x > 1]
        yield from ((a["x"], value) for value in values or [None])


def _lateral_value(as_: Tuples, bs: Tuples) -> Iterator[tuple]:
    for a in as_:
        values = [x for x in _of_key(a, bs) if x is not None]
        yield a["x"], max(values, default=None), len(_of_key(a, bs))


def _lateral_second(as_: Tuples, bs: Tuples) -> Iterator[tuple]:
    for a in as_:
        values = sorted((x for x in _of_key(a, bs) if x is not None), reverse=True)
        yield from ((a["x"], value) for value in values[1:3])


def _lateral_next(as_: Tuples, bs: Tuples) -> Iterator[tuple]:
    for a in as_:
        ahead = [b["x"] for b in bs if None not in (a["k"], b["k"], b["x"]) and b["k"] + 1 == a["k"]]
        yield from ((a["x"], value) for value in sorted(ahead)[:1])


def _lateral_groups(as_: Tuples, bs: Tuples) -> Iterator[tuple]:
    for a in as_:
        counts = Counter(_of_key(a, bs))
        yield from ((a["x"], x, n) for x, n in counts.items() if n > 1)


def _lateral_left_groups(as_: Tuples, bs: Tuples) -> Iterator[tuple]:
    for a in as_:
        counts = Counter(_of_key(a, bs))
        yield from ((a["x"], x, n) for x, n in counts.items() or [(None, None)])


def _lateral_most(as_: Tuples, bs: Tuples) -> Iterator[tuple]:
    for a in as_:
        counts = Counter(x for x in _of_key(a, bs) if x is not None)
        yield from ((a["x"], x, n) for x, n in sorted(counts.items(), key=lambda one: (-one[1], one[0]))[:2])


def _lateral_distinct(as_: Tuples, bs: Tuples) -> Iterator[tuple]:
    for a in as_:
        yield from ((a["x"], x) for x in {*_of_key(a, bs)})


def _lateral_above(as_: Tuples, bs: Tuples) -> Iterator[tuple]:
    for a in as_:
        most = max((x for x in _of_key(a, bs) if x is not None), default=None)
        if most is not None and most > 2:
            yield a["k"], a["x"], a["ts"], most


def _lateral_value_groups(as_: Tuples, bs: Tuples) -> Iterator[tuple]:
    most = [max((x for x in _of_key(a, bs) if x is not None), default=None) for a in as_]
    yield from Counter(most).items()


def _lateral_value_kept(as_: Tuples, bs: Tuples) -> Iterator[tuple]:
    for b in bs:
        met = [a for a in as_ if None not in (a["x"], b["x"]) and a["x"] == b["x"]]
        yield from ((len(_of_key(a, bs)), b["x"]) for a in met)
        yield from [] if met else [(None, b["x"])]


def _lateral_value_asked(as_: Tuples, bs: Tuples) -> Iterator[tuple]:
    for a in as_:
        most = max((x for x in _of_key(a, bs) if x is not None), default=None)
        yield a["x"], sum(most is not None and b["x"] == most for b in bs)


def _filtered(as_: Tuples, bs: Tuples) -> Iterator[tuple]:
    for key in {a["k"] for a in as_}:
        group = [a["x"] for a in as_ if a["k"] == key]
        yield key, sum(_truth(x, ">", [b["x"] for b in bs], True) is True for x in group)


def _plain_row(as_: Tuples, bs: Tuples) -> Iterator[tuple]:
    yield from ((a["x"], a["x"] + 3) for a in as_ if a["x"] is not None and a["x"] > 2)


_LATERAL: dict[str, tuple[str, Answer]] = {
    "top": (
        "SELECT a.x, v.x AS y FROM a, LATERAL"
        " (SELECT x FROM b WHERE b.k = a.k AND b.x IS NOT NULL ORDER BY x DESC LIMIT 2) v",
        _lateral_top,
    ),
    "number": (
        "SELECT a.x, v.k FROM a, LATERAL"
        " (SELECT ts, x AS k FROM b WHERE k = a.k AND b.x IS NOT NULL ORDER BY 2 DESC LIMIT 2) v",
        _lateral_top,
    ),
    "left": (
        "SELECT a.x, v.x AS y FROM a LEFT JOIN LATERAL"
        " (SELECT b.x FROM b WHERE b.k = a.k AND b.x > 1) v ON TRUE",
        _lateral_left,
    ),
    "value": (
        "SELECT a.x, v.m, n FROM a CROSS JOIN LATERAL"
        " (SELECT MAX(b.x) AS m, COUNT(*) AS n FROM b WHERE b.k = a.k) v",
        _lateral_value,
    ),
    "second": (
        "SELECT a.x, v.x AS y FROM a, LATERAL"
        " (SELECT x FROM b WHERE b.k = a.k AND b.x IS NOT NULL ORDER BY x DESC LIMIT 2 OFFSET 1) v",
        _lateral_second,
    ),
    "next": (
        "SELECT a.x, v.x AS y FROM a, LATERAL"
        " (SELECT x FROM b WHERE b.k + 1 = a.k AND b.x IS NOT NULL ORDER BY x LIMIT 1) v",
        _lateral_next,
    ),
    "groups": (
        "SELECT a.x, v.x AS y, v.n FROM a, LATERAL"
        " (SELECT x, COUNT(*) AS n FROM b WHERE b.k = a.k GROUP BY x HAVING COUNT(*) > 1) v",
        _lateral_groups,
    ),
    "left_groups": (
        "SELECT a.x, v.x AS y, v.n FROM a LEFT JOIN LATERAL"
        " (SELECT x, COUNT(*) AS n FROM b WHERE b.k = a.k GROUP BY 1) v ON TRUE",
        _lateral_left_groups,
    ),
    "most": (
        "SELECT a.x, v.x AS y, v.n FROM a, LATERAL"
        " (SELECT x, COUNT(*) AS n FROM b WHERE b.k = a.k AND x IS NOT NULL"
        " GROUP BY x ORDER BY n DESC, x LIMIT 2) v",
        _lateral_most,
    ),
    "distinct": (
        "SELECT a.x, v.x AS y FROM a, LATERAL (SELECT DISTINCT x FROM b WHERE b.k = a.k) v",
        _lateral_distinct,
    ),
    "above": (
        "SELECT * FROM a JOIN LATERAL (SELECT MAX(x) AS most FROM b WHERE b.k = a.k) v ON most > 2",
        _lateral_above,
    ),
    "value_groups": (
        "SELECT v.m, COUNT(*) AS n FROM a, LATERAL (SELECT MAX(x) AS m FROM b WHERE b.k = a.k) v GROUP BY m",
        _lateral_value_groups,
    ),
    "value_kept": (
        "SELECT v.n, c.x FROM a CROSS JOIN LATERAL (SELECT COUNT(*) AS n FROM b WHERE b.k = a.k) v"
        " RIGHT JOIN b c ON c.x = a.x",
        _lateral_value_kept,
    ),
    "value_asked": (
        "SELECT a.x, w.n FROM a, LATERAL (SELECT MAX(x) AS m FROM b WHERE b.k = a.k) v,"
        " LATERAL (SELECT COUNT(*) AS n FROM b WHERE b.x = v.m) w",
        _lateral_value_asked,
    ),
    "applied": (
        "SELECT a.x, v.x AS y FROM a OUTER APPLY (SELECT b.x FROM b WHERE b.k = a.k AND b.x > 1) v",
        _lateral_left,
    ),
    "filtered": (
        "SELECT k, COUNT(*) FILTER (WHERE x > ALL (SELECT b.x FROM b)) AS n FROM a GROUP BY k",
        _filtered,
    ),
    "row": (
        "WITH p AS (SELECT 2 AS least) SELECT a.x, v.y FROM a, p, (VALUES (3)) AS q(more),"
        " LATERAL (SELECT a.x + q.more AS y) v WHERE a.x > p.least",
        _plain_row,
    ),
}
_COMPARISONS = [
    (word, quantifier, negated, tied)
    for word in (">", ">=", "<", "<=")
    for quantifier in ("ALL", "ANY")
    for negated in (False, True)
    for tied in (False, True)
]
_WITH_OTHERS = [
    (word, quantifier, negated, tied)
    for word, quantifier in (("<>", "ANY"), ("=", "ALL"))
    for negated in (False, True)
    for tied in (False, True)
]


@seeds(2)
def test_comparisons_with_all_and_any(seed: int, tmp_path: Path) -> None:
    rng = Random(seed)
    chosen = rng.sample(_COMPARISONS, 12)
    _check({f"q{i}": _quantified(*one) for i, one in enumerate(chosen)}, tmp_path, rng)


@seeds(2)
def test_equalities_with_all_and_any(seed: int, tmp_path: Path) -> None:
    _check({f"q{i}": _quantified(*one) for i, one in enumerate(_WITH_OTHERS)}, tmp_path, Random(seed))


@seeds(2)
def test_lateral(seed: int, tmp_path: Path) -> None:
    _check(_LATERAL, tmp_path, Random(seed))


def test_values_of_the_same_rows_are_one_aggregate(tmp_path: Path) -> None:
    names = {"MAX": "m", "MIN": "n", "COUNT": "c"}
    values = ", ".join(f"(SELECT {f}(b.x) FROM b WHERE b.k = a.k) AS {n}" for f, n in names.items())
    _write(tmp_path, {"all": f"SELECT a.x, {values} FROM a"}, {"a": [], "b": []})
    many = run_local(str(tmp_path / "script.sql")).stats["network"]["nodes"]
    _write(tmp_path, {"all": f"SELECT a.x, {values.split(', (')[0]} FROM a"}, {"a": [], "b": []})
    assert many == run_local(str(tmp_path / "script.sql")).stats["network"]["nodes"]


def _check(queries: dict[str, tuple[str, Answer]], folder: Path, rng: Random) -> None:
    lines = {"a": [*_tuples(rng)], "b": [*_tuples(rng)]}
    _write(folder, {name: text for name, (text, _) in queries.items()}, lines)
    records = run_local(str(folder / "script.sql"), buckets=rng.randint(1, 3)).records
    last = max(one["ts"] for one in (*lines["a"], *lines["b"]))
    counted = 0
    for at in [*rng.sample(range(last), 5), last]:
        alive = [[one for one in lines[name] if one["ts"] <= at < one["ts"] + _LIFE] for name in "ab"]
        for name, (_, answer) in queries.items():
            expected = Counter(answer(*alive))
            assert _net([r for r in records if r["query"] == name], at) == expected, (name, at)
            counted += len(expected)
    assert counted > 20


def _net(records: list[dict[str, Any]], at: int) -> Counter:
    net: Counter = Counter()
    for record in records:
        ended = record["t_end"] is not None and record["t_end"] <= at
        if record["t_start"] is None or (record["t_start"] <= at and not ended):
            net[tuple(record["row"].values())] += 1 if record["op"] == "+" else -1
    return +net


def _write(folder: Path, queries: dict[str, str], lines: dict[str, Tuples]) -> None:
    text = "".join(f'CREATE QUERY "{name}" AS {query};\n' for name, query in queries.items())
    (folder / "script.sql").write_text(_STREAMS + text, encoding="utf-8")
    for name, rows in lines.items():
        (folder / f"{name}.jsonl").write_text(
            "".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8"
        )


def _tuples(rng: Random) -> Iterator[dict[str, Any]]:
    at = 0
    for _ in range(30):
        at += rng.choice([0, 1, 1, 2])
        yield {"k": rng.choice([1, 2, 3, None]), "x": rng.choice([0, 1, 2, 3, 4, 5, None]), "ts": at}
