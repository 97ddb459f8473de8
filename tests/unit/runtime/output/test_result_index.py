"""The index of results: every record of a query and no other, whatever is cut, lost or damaged."""

from __future__ import annotations

import json
import random
from pathlib import Path
from unittest import mock

import pytest

from seine.errors import SeineError
from seine.intake.retention_limit import RetentionLimit
from seine.runtime.output import node_files, result_index
from seine.runtime.output.log_files import LogFiles, ResultFile, TooOldError
from seine.runtime.output.node_files import NodeFiles
from seine.runtime.output.range_chain import NODE, ByteRange, RangeNode, backwards, first_after
from seine.runtime.output.result_index import ResultIndex
from seine.runtime.output.segmented_file import SegmentedFile
from seine.runtime.output.task_report import QueryRanges
from tests.support.seeds import seeds

QUERIES = ["q", "p", 'a "name", \\ of é', "rare"]


class Results:
    """A file of results that grows, with an index beside it."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "results.jsonl"
        self.path.touch()
        self.folder = folder / "index"
        self.index = self.open()

    def open(self) -> ResultIndex:
        return ResultIndex(str(self.folder), LogFiles(str(self.path)), self.path.stat().st_size)

    def lines(self, queries: list[str], chance: random.Random) -> None:
        """A micro-batch, of which the index hears."""
        lines = [record(query, chance.randrange(10**9)) for query in queries]
        with self.path.open("ab") as file:
            file.write(b"".join(lines))
        cut = chance.randrange(len(lines) + 1)  # reports of two tasks
        for names, part in ((queries[:cut], lines[:cut]), (queries[cut:], lines[cut:])):
            self.index.append(names, QueryRanges.of(range(len(part)), [len(line) for line in part]))
        self.index.settle(self.path.stat().st_size)

    def wanted(self, query: str, position: int) -> list[ByteRange]:
        """The lines of a query that end after a position, by reading them all."""
        ranges, start = [], 0
        for line in self.path.read_bytes().splitlines(keepends=True):
            end = start + len(line)
            if json.loads(line)["query"] == query and end > position:
                ranges.append(ByteRange(start, end))
            start = end
        return ranges

    def check(self, chance: random.Random) -> int:
        """Compare a reader's walk over the ranges with the lines; how many lines were compared."""
        compared = 0
        for query in [*QUERIES, "nobody"]:
            lines = self.wanted(query, 0)
            positions = [0, *(end for _, end in chance.sample(lines, min(4, len(lines))))]
            for position in positions:
                wanted = self.wanted(query, position)
                assert joined(walk(self.index, query, position)) == joined(wanted)
                compared += len(wanted)
            assert self.index.end_of(query) == (lines[-1].end if lines else 0)
        return compared + self._check_several(chance)

    def _check_several(self, chance: random.Random) -> int:
        queries = chance.sample([*QUERIES, "nobody"], 3)
        lines = sorted((end, start, query) for query in queries for start, end in self.wanted(query, 0))
        position = chance.choice([0, *(end for end, _, _ in lines)])
        wanted = [one for one in lines if one[0] > position]
        for few, nodes in ((0, 3), (0, 1 << 16), (8, 3)):
            with mock.patch.object(node_files, "_NODES_AT_ONCE", nodes):
                ranges = walk_among(self.index, queries, position, few)
            assert [end for _, _, end in ranges] == sorted(end for _, _, end in ranges)
            for query in queries:
                of_query = [ByteRange(start, end) for one, start, end in ranges if one == query]
                lines_of_it = [ByteRange(start, end) for end, start, one in wanted if one == query]
                assert joined(of_query) == joined(lines_of_it)
        return len(wanted)


def record(query: str, value: int) -> bytes:
    return json.dumps({"query": query, "op": "+", "row": {"v": value}}, ensure_ascii=False).encode() + b"\n"


def walk(index: ResultIndex, query: str, position: int) -> list[ByteRange]:
    ranges: list[ByteRange] = []
    while True:
        page = index.ranges(query, position, enough=200)
        ranges += [ByteRange(max(start, position), end) for start, end in page.ranges]
        if page.complete:
            return ranges
        position = page.ranges[-1].end


def walk_among(index: ResultIndex, queries: list[str], position: int, few: int) -> list[tuple[str, int, int]]:
    """Ranges of several queries: by their lists if there are at most `few` queries, else by all nodes."""
    taken = []
    with mock.patch.object(result_index, "_FEW_QUERIES", few):
        while position < index.settled:
            page = index.among(queries, position, enough=150)
            assert position < page.reach <= index.settled
            taken += [(query, max(one.start, position), one.end) for one, query in page.ranges]
            position = page.reach
    return taken


def joined(ranges: list[ByteRange]) -> list[ByteRange]:
    """Ranges, those that touch made one."""
    result: list[ByteRange] = []
    for one in ranges:
        if result and result[-1].end == one.start:
            result[-1] = ByteRange(result[-1].start, one.end)
        else:
            result.append(one)
    return result


def batch(chance: random.Random) -> list[str]:
    return chance.choices(QUERIES, [20, 10, 10, 1], k=chance.randrange(12))


@seeds(12)
def test_the_ranges_of_a_query_are_its_records(tmp_path: Path, seed: int) -> None:
    """Also after the index was lost, cut anywhere, or damaged, and results were cut back or grew unseen."""
    chance = random.Random(seed)
    results = Results(tmp_path)
    compared = 0
    for _ in range(4):
        for _ in range(chance.randrange(24)):
            results.lines(batch(chance), chance)
        compared += results.check(chance)
        results.index.close()
        damage(results, chance)
        results.index = results.open()
        compared += results.check(chance)
    assert compared > 100


@seeds(8)
def test_recent_records_are_the_last_ones(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    results = Results(tmp_path)
    for _ in range(chance.randrange(1, 30)):
        results.lines(batch(chance), chance)
    for query in [*QUERIES, "nobody"]:
        most = chance.choice([1, 100, 700, 10**6])
        position = results.index.recent(query, most)
        after = sum(end - max(start, position) for start, end in results.wanted(query, position))
        all_of_it = sum(end - start for start, end in results.wanted(query, 0))
        assert after == min(most, all_of_it)


def damage(results: Results, chance: random.Random) -> None:
    """What a crash, or a power cut, may do."""
    for name in ("ranges", "names.jsonl"):
        path = results.folder / name
        content = path.read_bytes() if path.exists() else b""
        kind = chance.choice(["nothing", "cut", "zeros", "lost"])
        place = chance.randrange(len(content) + 1)
        if kind == "cut":
            path.write_bytes(content[:place])
        elif kind == "zeros":
            place -= place % NODE.size
            path.write_bytes(content[:place] + bytes(len(content) - place))
        elif kind == "lost" and path.exists():
            path.unlink()
    lines = results.path.read_bytes().splitlines(keepends=True)
    if chance.random() < 0.5:
        results.path.write_bytes(b"".join(lines[: len(lines) - chance.randrange(5)]))
    else:
        with results.path.open("ab") as file:
            file.writelines(record(query, 0) for query in batch(chance))


def test_an_index_of_other_results_is_made_anew(tmp_path: Path) -> None:
    results, chance = Results(tmp_path), random.Random(0)
    results.lines(["q", "p", "rare"], chance)
    results.index.close()
    results.path.write_bytes(record("p", 1) + record("q", 123) * 2 + record("rare", 12345678901234567))
    results.index = results.open()
    assert results.check(chance) >= 4


def test_records_that_touch_are_one_range(tmp_path: Path) -> None:
    results = Results(tmp_path)
    results.lines(["q"] * 5 + ["p"] * 3 + ["q"], random.Random(0))
    assert (results.folder / "ranges").stat().st_size == 3 * NODE.size
    assert len(results.index.ranges("q", 0, 1 << 20).ranges) == 2


def test_a_range_is_found_in_few_steps(tmp_path: Path) -> None:
    """Of many ranges one reads a few nodes, wherever one begins."""
    results = Results(tmp_path)
    for _ in range(3000):
        with results.path.open("ab") as file:
            file.write(b"x\n" * 2)
        results.index.append(["p", "q"], QueryRanges.of([1, 0], [2, 2]))
        results.index.settle(results.path.stat().st_size)
    nodes = NodeFiles(str(results.folder))
    read: list[int] = []

    def node(number: int) -> RangeNode:
        read.append(number)
        return nodes.node(number)

    worst = 0
    for position in range(0, 12_000, 37):
        read.clear()
        first = first_after(6000, position, node) if position < 11_998 else 6000
        assert nodes.range(first).end > position and (first < 3 or nodes.range(first - 2).end <= position)
        assert backwards(6000, nodes.node(first).rank, 1, node) == [first]
        worst = max(worst, len(read))
    assert 10 < worst < 200


def test_what_is_no_record_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_bytes(b"hello\n")
    with pytest.raises(SeineError, match="damaged"):
        ResultIndex(str(tmp_path / "index"), LogFiles(str(path)), 6)


@seeds(4)
def test_ends_of_micro_batches_are_found(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result_index, "_MOST_ENDS", 1000 if seed % 2 else 8)
    results, chance = Results(tmp_path), random.Random(seed)
    ends = [0]
    for _ in range(30):
        results.lines(chance.choices(QUERIES, k=chance.randrange(4)), chance)
        ends.append(results.index.settled)
    known = sorted({*results.index._batch_ends})
    assert {*known} <= {*ends} and known[-1] == ends[-1]
    assert seed % 2 == 0 or known == sorted({*ends})
    for _ in range(50):
        position, most = chance.randrange(ends[-1]), chance.randrange(400)
        later = [end for end in known if end > position]
        within = [end for end in later if end <= position + most]
        assert results.index.batch_end(position, most) == (within[-1] if within else later[0])
        assert results.index.batches_after(position) == len(later)
    assert results.index.batch_end(ends[-1], 10) == ends[-1]


@seeds(8)
def test_ranges_of_what_is_kept_are_found_as_segments_go(tmp_path: Path, seed: int) -> None:
    """Also after restarts, and kills before the index heard of a segment that was begun or removed."""
    chance, path = random.Random(seed), str(tmp_path / "results.jsonl")
    log = SegmentedFile(path, 0, (), RetentionLimit(bytes=2000))
    index, written, compared = ResultIndex(str(tmp_path / "index"), log.files, 0), list[bytes](), 0
    for _ in range(60):
        queries = batch(chance)
        lines = [record(query, chance.randrange(10**9)) for query in queries]
        for line in lines:
            log.write(line)
        written += lines
        length = log.settle()
        log.tidy()
        if chance.random() < 0.9:
            index.append(queries, QueryRanges.of(range(len(lines)), [len(line) for line in lines]))
            index.settle(length, log.files)
        else:  # killed before
            index = ResultIndex(str(tmp_path / "index"), log.files, length)
        compared += _compare_kept(index, written, chance)
    sizes = sum(one.stat().st_size for one in (tmp_path / "index").glob("ranges*"))
    assert log.files.first > 1000 and compared > 500
    assert sizes < 100 * NODE.size, "the index goes with what it is of"


def _compare_kept(index: ResultIndex, written: list[bytes], chance: random.Random) -> int:
    """Compare what can be found from a position on with all that was ever written; how many records."""
    first, start, lines = index.results.first, 0, []
    for line in written:
        lines.append((start, json.loads(line)["query"], line))
        start += len(line)
    position = chance.choice([first, *(at for at, _, _ in lines if at >= first)])
    compared = 0
    for query in QUERIES:
        wanted = b"".join(line for at, one, line in lines if one == query and at >= position)
        with ResultFile(index.results) as file:
            assert b"".join(file.read(*one) for one in walk(index, query, position)) == wanted
            several = walk_among(index, [query, "nobody"], position, few=0)
            assert b"".join(file.read(start, end) for _, start, end in several) == wanted
        compared += wanted.count(b"\n")
        if first:
            with pytest.raises(TooOldError, match=f"before position {first} is no longer kept"):
                index.ranges(query, chance.randrange(first), 1)
    return compared
