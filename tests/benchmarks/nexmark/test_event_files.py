"""The files that all sides read: every event once, and scripts without streams that nobody reads."""

from __future__ import annotations

from pathlib import Path

from benchmarks.nexmark.event_files import write_events, write_script
from benchmarks.nexmark.variants import ten_queries, variant_queries

from seine.demo.nexmark.events import query_text
from seine.frontends.script.parser import read_script
from seine.run_local import run_local


def test_a_file_for_each_stretch_of_time(tmp_path: Path) -> None:
    write_events(tmp_path, 2_000, 4, 100)
    counts = [len(path.read_text().splitlines()) for path in sorted((tmp_path / "bid").iterdir())]
    assert len(counts) == 4 and sum(counts) == 1_840 and max(counts) - min(counts) < 100


def test_a_script_declares_what_it_reads(tmp_path: Path) -> None:
    write_events(tmp_path, 200, 1, 100)
    for query, streams in {"q2": {"bid"}, "q8": {"person", "auction"}, "q13": {"bid"}}.items():
        declared = read_script(str(write_script(tmp_path, query, query_text(query)))).declarations
        assert declared.streams.keys() == streams
        assert declared.relations.keys() == ({"side_input"} if query == "q13" else set())


def test_variants_have_the_nodes_of_a_few_queries(tmp_path: Path) -> None:
    write_events(tmp_path, 3_000, 1, 100)
    ten, few, many = (
        run_local(str(write_script(tmp_path, name, text)))
        for name, text in {
            "ten": ten_queries(),
            "few": variant_queries(10),
            "many": variant_queries(25),
        }.items()
    )
    assert many.stats["network"]["queries"] == 250
    assert many.stats["network"]["nodes"] == few.stats["network"]["nodes"]
    assert 0 < len(many.records) < 2 * len(ten.records)
