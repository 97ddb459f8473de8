"""Files of results that become one in the order of time: beside a sort of the lines themselves."""

from __future__ import annotations

import random

from seine.runtime.output.task_pieces import PieceWriter, text_of
from seine.runtime.output.task_report import ANY_TIME, QueryRanges, WrittenResults, in_time
from seine.storage.memory import MemoryStore
from tests.support.seeds import seeds

Line = tuple[str, int, str]  # query, time, text


def written(store: MemoryStore, lines: list[Line]) -> WrittenResults:
    queries = list(dict.fromkeys(query for query, _, _ in lines))
    writer = PieceWriter(store, 1)
    writer.write("".join(text for _, _, text in lines).encode())
    times = [time for _, time, _ in lines]
    sizes = [len(text.encode()) for _, _, text in lines]
    owners = [queries.index(query) for query, _, _ in lines]
    ranges = QueryRanges.of(owners, sizes, times if any(time != ANY_TIME for time in times) else ())
    counts = {query: sum(query == one for one, _, _ in lines) for query in queries}
    return WrittenResults(writer.close(), counts, dict.fromkeys(queries, 1.5), tuple(queries[:1]), ranges)


def read(store: MemoryStore, results: WrittenResults) -> list[tuple[str, str]]:
    content, names, at = bytes(text_of(store, results.pieces)), list(results.counts), 0
    lines = []
    for query, size in zip(results.ranges.queries.tolist(), results.ranges.sizes.tolist(), strict=True):
        lines.append((names[query], content[at : at + size].decode()))
        at += size
    assert at == len(content)
    return lines


@seeds(60)
def test_each_query_in_the_order_of_time_and_all_else_as_it_was(seed: int) -> None:
    chance, merged = random.Random(seed), 0
    for _ in range(10):
        store = MemoryStore()
        number, files = 0, []
        for _ in range(chance.randrange(1, 5)):
            lines = []
            for _ in range(chance.randrange(1, 12)):
                query, number = chance.choice(["plain", "other", "s1", "s2", "sé"]), number + 1
                time = chance.randrange(6) if query.startswith("s") else ANY_TIME
                lines.append((query, time, f"{query} {time} {number}\n" + "é" * chance.randrange(3)))
            files.append(lines)
        before = [written(store, lines) for lines in files]
        after = in_time(store, 1, before)
        merged += len(after) < len(before)
        told_lines = [line for results in after for line in read(store, results)]
        every = [line for lines in files for line in lines]
        assert sorted(told_lines) == sorted((query, text) for query, _, text in every)
        for query in {query for query, _, _ in every}:
            mine = [(time, text) for one, time, text in every if one == query]
            assert [text for one, text in told_lines if one == query] == [
                text for _, text in sorted(mine, key=lambda line: line[0])
            ]
        assert sum((sum(one.counts.values()) for one in after), 0) == len(every)
        assert {query for one in after for query in one.cut} == {query for one in before for query in one.cut}
        total = sum(sum(one.importance.values()) for one in before)
        assert sum(sum(one.importance.values()) for one in after) == total
    assert merged > 0


def test_files_in_order_are_left_alone() -> None:
    store = MemoryStore()
    one = written(store, [("q", 3, "x\n"), ("q", 4, "y\n")])
    other = written(store, [("r", ANY_TIME, "z\n")])
    assert in_time(store, 1, [one, other]) == [one, other]
    assert in_time(store, 1, []) == []
    assert len(store.objects) == 2
