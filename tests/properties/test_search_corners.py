"""Searches of which something is behind, silent, dropped or unbounded: small stories with known answers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from seine.operators.search import search_state
from seine.operators.state.work_budget import WorkBudget
from seine.run_local import LocalHost, LocalResult, run_local
from seine.service.folder import ServiceFolder
from seine.service.service import Service, ServiceOptions
from seine.service.tail import read_records
from tests.support.everywhere import EVERYWHERE

Rows = Sequence[Mapping[str, Any]]


def _write(folder: Path, lines: Mapping[str, Rows]) -> None:
    for name, rows in lines.items():
        with (folder / f"{name}.jsonl").open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)


def _run(folder: Path, script: str, batch_rows: int | None = 1, **lines: Rows) -> LocalResult:
    _write(folder, lines)
    (folder / "s.sql").write_text(script, encoding="utf-8")
    return run_local(str(folder / "s.sql"), batch_rows=batch_rows)


def _lives(records: Sequence[Mapping[str, Any]], query: str = "q") -> list[tuple[str, Any, Any]]:
    return sorted((r["op"], r["t_start"], r["t_end"]) for r in records if r["query"] == query)


def _stream(name: str, clauses: str = "WINDOW 15") -> str:
    columns = "(k BIGINT, w STRING, ts BIGINT) TIMESTAMP BY ts"
    return f"CREATE STREAM {name} {columns} {clauses} FROM '{name}.jsonl';\n"


def _row(ts: int, words: str = "", k: int = 1, **more: Any) -> dict[str, Any]:
    return {"k": k, "w": words, "ts": ts, **more}


def _deleted(ts: int, words: str, k: int = 1) -> dict[str, Any]:
    return _row(ts, words, k, **{"@op": "-"})


@pytest.mark.parametrize("batch_rows", [None, 1])
def test_deletion_counts_for_partners_that_come_long_after(tmp_path: Path, batch_rows: int | None) -> None:
    script = _stream("s", "WINDOW 15 RETRACTABLE") + _stream("t", "WINDOW 15 LATENESS 200")
    script += "CREATE JOIN s.k = t.k; CREATE QUERY q AS SEARCH 'amber basil';"
    late = [*(_row(ts, k=9) for ts in range(90, 99)), _row(5, "basil"), _row(12, "basil")]
    early = [_row(1, "amber"), _deleted(10, "amber"), *(_row(ts, k=8) for ts in range(90, 99))]
    records = _run(tmp_path, script, batch_rows, s=early, t=late).records
    assert _lives(records) == [("+", 5, 16), ("-", 5, 10)]


class _Story:
    """A service that is run by hand."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.service = Service(
            ServiceFolder(str(folder / "state")), ServiceOptions(buckets=2, depth=3, reach=EVERYWHERE)
        )
        self._host = LocalHost(self.service.deployment)

    def register(self, text: str) -> None:
        for name in [part.split()[0] for part in text.split("CREATE STREAM ")[1:]]:
            (self.folder / f"{name}.jsonl").touch()
        self.service.registrar.register(text, file="x.sql", folder=str(self.folder))

    def feed(self, **lines: Rows) -> None:
        _write(self.folder, lines)
        while self.service.driver.run_some(self._host.run):
            pass

    def restart(self) -> None:
        self.service.close()
        self.service = Service(
            ServiceFolder(str(self.folder / "state")), ServiceOptions(buckets=2, depth=3, reach=EVERYWHERE)
        )

    def tables(self, query: str) -> list[list[str]]:
        """The tables of each tree that a search has reported."""
        page = read_records(self.service.sink.index, query, 0, 1 << 30)
        rows = [json.loads(line)["row"] for line in page.lines.splitlines()]
        return sorted(sorted(one["stream"] for one in row["tuples"]) for row in rows)


UNBOUNDED = "CREATE QUERY free WITH (unbounded = true) AS SEARCH 'amber basil';"


def test_streams_without_a_window_enter_searches_that_come_after_them(tmp_path: Path) -> None:
    story = _Story(tmp_path)
    story.register(
        _stream("s") + _stream("t") + "CREATE JOIN s.k = t.k; CREATE QUERY q AS SEARCH 'amber basil';"
    )
    story.register(_stream("u", "") + "CREATE JOIN s.k = u.k;")
    story.feed(s=[_row(1, "amber")], t=[_row(1, "basil")], u=[_row(1, "basil")])
    story.register(UNBOUNDED + "CREATE QUERY one AS SEARCH 'basil';")
    story.restart()
    story.feed(s=[_row(2, "amber")], t=[_row(2, "basil")], u=[_row(2, "basil")])
    assert story.tables("q") == [["s", "t"]] * 4
    assert story.tables("free") == [["s", "t"], ["s", "u"]]
    assert story.tables("one") == [["t"], ["u"]]
    story.service.close()


def test_search_leaves_out_streams_without_a_window_that_others_brought(tmp_path: Path) -> None:
    story = _Story(tmp_path)
    story.register(
        _stream("s") + _stream("t") + "CREATE JOIN s.k = t.k; CREATE QUERY q AS SEARCH 'amber basil';"
    )
    story.register(_stream("u", "") + "CREATE JOIN s.k = u.k; CREATE QUERY one AS SEARCH 'basil' OVER (u);")
    story.register(_stream("v"))
    story.feed(s=[_row(1, "amber")], t=[_row(1, "basil")], u=[_row(1, "basil")])
    assert story.tables("q") == [["s", "t"]] and story.tables("one") == [["u"]]
    story.service.close()


def test_streams_in_which_only_single_tuples_are_searched_are_not_held(tmp_path: Path) -> None:
    story = _Story(tmp_path)
    story.register(_stream("s") + _stream("t") + _stream("u", "") + "CREATE JOIN s.k = t.k;")
    story.register(
        "CREATE QUERY q AS SEARCH 'amber basil' OVER (s, t); CREATE QUERY one AS SEARCH 'amber' OVER (u);"
    )
    story.register("CREATE JOIN t.k = u.k;")
    for first in range(0, 40, 10):
        words = (("s", "amber"), ("t", "basil"), ("u", "amber"))
        story.feed(**{name: [_row(ts, word, ts) for ts in range(first, first + 10)] for name, word in words})
    assert story.tables("q") == [["s", "t"]] * 40 and story.tables("one") == [["u"]] * 40
    assert 20 < story.service.status()["state_rows"] < 2 * 40, "of each copy no more than the windows"
    story.service.close()


def test_stream_without_a_window_that_is_declared_anew_enters_the_next_search(tmp_path: Path) -> None:
    story = _Story(tmp_path)
    story.register(_stream("s") + _stream("u", "") + "CREATE JOIN s.k = u.k;" + UNBOUNDED)
    story.register("DROP JOIN s.k = u.k; DROP STREAM u;")
    again = _stream("u", "").replace("'u.jsonl'", "'again.jsonl'")
    (tmp_path / "again.jsonl").touch()
    story.register(again + "CREATE JOIN s.k = u.k;")
    story.feed(s=[_row(1, "amber")], again=[_row(1, "basil")])
    assert story.tables("free") == []
    story.register(UNBOUNDED.replace("free", "later"))
    story.feed(s=[_row(2, "amber")], again=[_row(2, "basil")])
    assert story.tables("later") == [["s", "u"]]
    story.service.close()


def test_dropped_join_counts_for_tuples_that_wait_whatever_else_is_dropped(tmp_path: Path) -> None:
    story = _Story(tmp_path)
    story.register(_stream("s") + _stream("t", "WINDOW 15 RETRACTABLE") + "CREATE JOIN s.k = t.k;")
    story.register(
        "CREATE QUERY q AS SEARCH 'amber basil'; CREATE QUERY other AS SEARCH 'amber basil' OVER (s);"
    )
    story.feed(s=[_row(5, "amber")], t=[_row(5, "basil")])
    assert story.tables("q") == []
    story.register("DROP JOIN s.k = t.k;")
    story.register("DROP QUERY other;")
    story.feed(s=[_row(50)], t=[_row(50)])
    assert story.tables("q") == [["s", "t"]]
    story.service.close()


def test_words_in_nearly_all_tuples_are_found_like_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_state, "LEAST_FREQUENT", 1)
    script = _stream("s") + _stream("t") + _stream("u") + "CREATE JOIN s.k = t.k; CREATE JOIN t.k = u.k;"
    for most in (2, 3, 4, 5, 6):
        script += f"CREATE QUERY q{most} AS SEARCH 'the amber basil' MAX {most} TUPLES;"
        script += f"CREATE QUERY p{most} AS SEARCH 'the a|of' MAX {most} TUPLES;"
    lines = {
        name: [_row(ts, f"{['the', 'a', 'of'][ts % 3]} {word}", ts % 2) for ts in range(9)]
        for name, word in (("s", "amber"), ("t", "the"), ("u", "basil"))
    }
    stopped = _run(tmp_path, script, 3, **lines).records
    monkeypatch.setattr(search_state, "LEAST_FREQUENT", 1 << 30)
    plain = run_local(str(tmp_path / "s.sql"), batch_rows=3).records
    texts = [sorted(json.dumps(one) for one in records) for records in (stopped, plain)]
    assert texts[0] == texts[1] and len(texts[0]) > 200


def test_budget_is_of_a_search_whatever_tables_it_finds_trees_in(tmp_path: Path) -> None:
    script = "".join(map(_stream, "abcd")) + "CREATE JOIN a.k = b.k; CREATE JOIN c.k = d.k;"
    script += "CREATE QUERY q AS SEARCH 'hot warm' MAX 2 TUPLES;"
    rows = {name: [_row(1, word)] * 60 for name, word in zip("abcd", ("hot", "warm") * 2, strict=True)}
    _run(tmp_path, script, None, **rows)
    path = str(tmp_path / "s.sql")
    for candidates, fails in ((10_000, True), (20_000, False)):
        result = run_local(path, buckets=1, budget=WorkBudget(candidates=candidates))
        assert ("failed" in result.stats["queries"]["q"]) == fails, candidates
