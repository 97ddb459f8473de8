"""A folder of results has of each query what the one file of all results has of it, whatever is cut off."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest

from seine.errors import SeineError
from seine.frontends.script.parser import parse_script
from seine.run import Options
from seine.run_local import carried_here
from seine.runtime.output.query_files import QueryFiles, file_name
from seine.runtime.output.task_report import QueryRanges
from tests.support.seeds import seeds

QUERIES = ["a", "b", "odd/../name"]


def line(query: str, number: int) -> bytes:
    return json.dumps({"query": query, "row": number}).encode() + b"\n"


def append(files: QueryFiles, written: list[tuple[str, bytes]]) -> None:
    names = sorted({query for query, _ in written})
    ranges = QueryRanges.of([names.index(query) for query, _ in written], [len(text) for _, text in written])
    files.write_ranges(memoryview(b"".join(text for _, text in written)), names, ranges)


def contents(folder: Path) -> dict[str, bytes]:
    return {query: (folder / file_name(query)).read_bytes() for query in QUERIES}


@seeds(5)
def test_what_was_not_settled_is_cut_off(seed: int, tmp_path: Path) -> None:
    rng = Random(seed)
    length, expected = 0, dict.fromkeys(QUERIES, b"")
    (tmp_path / "a.jsonl").write_bytes(b"of an earlier run\n")
    for batch in range(12):
        files = QueryFiles(str(tmp_path), length, QUERIES)
        chosen = [rng.choice(QUERIES[:2] if batch < 6 else QUERIES) for _ in range(rng.randint(0, 5))]
        written = [(query, line(query, batch)) for query in chosen]
        append(files, written)
        if rng.random() < 0.3:
            files.settle()  # and then the process dies before anybody notes it
            continue
        files.write(line("a", -1))
        length = files.settle()
        for query, text in [*written, ("a", line("a", -1))]:
            expected[query] += text
        assert contents(tmp_path) == expected
        assert length == sum(map(len, expected.values()))
    assert all(expected.values())


def test_a_folder_that_is_not_that_of_the_checkpoint_is_refused(tmp_path: Path) -> None:
    files = QueryFiles(str(tmp_path), 0, QUERIES)
    files.write(line("a", 1))
    length = files.settle()
    with pytest.raises(SeineError, match="does not have the 999 bytes"):
        QueryFiles(str(tmp_path), 999, QUERIES)
    (tmp_path / "a.jsonl").write_bytes(b"")
    with pytest.raises(SeineError, match="shorter than the checkpoint says"):
        QueryFiles(str(tmp_path), length, QUERIES)


def test_a_run_writes_a_file_a_query_and_counts_groups(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_text("".join(f'{{"a": {i % 3}, "ts": {i}}}\n' for i in range(9)))
    script = parse_script(
        "CREATE STREAM s (a BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 100 FROM 's.jsonl';"
        "CREATE QUERY few WITH (limit = 2) AS SELECT a FROM s;"
        "CREATE QUERY none AS SELECT a FROM s WHERE a > 9;"
        "CREATE QUERY sums AS SELECT a, COUNT(*) AS n FROM s GROUP BY a;",
        file="s.sql",
        folder=str(tmp_path),
    )
    options = Options(f"{tmp_path}/out/", None, str(tmp_path / "state"), 4, buckets=2)
    with carried_here(script, options) as run:
        statistics = run.statistics(1).document()
    counts = {path.name: len(path.read_text().splitlines()) for path in (tmp_path / "out").glob("*.jsonl")}
    assert counts == {"few.jsonl": 2, "none.jsonl": 0, "sums.jsonl": 15}
    assert statistics["groups"] == statistics["queries"]["sums"]["groups"]
    assert 3 <= statistics["groups"]["peak"] <= 6  # one that changed may be in state twice until it is merged
    assert statistics["queries"]["few"]["groups"] == {"peak": 0, "final": 0}
