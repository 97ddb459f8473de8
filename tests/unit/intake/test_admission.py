"""Admission against a plain judge that looks at one line after the other."""

from __future__ import annotations

import json
import random
from typing import Any

import pyarrow as pa

from seine.algebra.definitions import Scheme, StreamDef, with_since
from seine.algebra.types import BIGINT, DOUBLE, STRING, Field
from seine.intake.admission import Admission, Admitted
from seine.intake.intake_state import AdmissionState
from seine.intake.jsonl import JsonLines
from seine.intake.line_block import LineBlock
from seine.intake.parsed import Parsed
from seine.intake.record_layout import RecordLayout
from seine.rows.delta import FOREVER, NEVER
from seine.typed_json import read_json, write_json
from tests.support.seeds import seeds

FIELDS = (Field("a", BIGINT), Field("b", STRING), Field("x", DOUBLE), Field("ts", BIGINT))


def stream(**options: Any) -> StreamDef:
    return with_since(StreamDef("s", FIELDS, 3, None, **options))


def parse(definition: StreamDef, lines: list[str], first: int = 1) -> Parsed:
    data = "\n".join(lines).encode()
    return JsonLines(RecordLayout.of(definition)).parse(LineBlock("k", "f", data, first, 0, data[:1024]))


class PlainJudge:
    """The contract, word by word."""

    def __init__(self, definition: StreamDef) -> None:
        self.stream = definition
        self.clock: int | None = None
        self.punctuations: list[tuple[int, tuple[Any, ...], int]] = []
        self.new_punctuations: list[
            tuple[int, int, int, dict[str, Any]]
        ] = []  # punctuations for ever that are new
        self.accepted: list[tuple[int, int, dict[str, Any]]] = []
        self.dead: list[int] = []

    def line(self, number: int, text: str) -> None:
        record = json.loads(text)
        if "@punctuate" in record:
            self._punctuation(record)
        elif self._refuses(record):
            self.dead.append(number)
        else:
            op = -1 if "@op" in record else 1
            self.clock = record["ts"] if self.clock is None else max(self.clock, record["ts"])
            row = {f"c{i}": record.get(field.name) for i, field in enumerate(FIELDS)}
            row |= {f"c{place}": self._since(record, index) for index, place in self.stream.since.items()}
            self.accepted.append((len(self.accepted), op, row))

    def _punctuation(self, record: dict[str, Any]) -> None:
        names = frozenset(record["@punctuate"])
        for index, scheme in enumerate(self.stream.schemes):
            if frozenset(FIELDS[c].name for c in scheme.columns) == names:
                key = tuple(record["@punctuate"][FIELDS[c].name] for c in scheme.columns)
                if scheme.lifespan is None and all(p[:2] != (index, key) for p in self.punctuations):
                    values = {f"c{c}": value for c, value in zip(scheme.columns, key, strict=True)}
                    self.new_punctuations.append((len(self.accepted), index, record["ts"], values))
                self.punctuations.append((index, key, record["ts"]))
                return

    def _since(self, record: dict[str, Any], index: int) -> int:
        scheme = self.stream.schemes[index]
        values = tuple(record.get(FIELDS[c].name) for c in scheme.columns)
        ends = [
            ts + (scheme.lifespan or 0) for one, key, ts in self.punctuations if (one, key) == (index, values)
        ]
        return max(ends, default=NEVER)

    def _refuses(self, record: dict[str, Any]) -> bool:
        if "@op" in record and not self.stream.retractable:
            return True
        if any(self._breaks(record, *punctuation) for punctuation in self.punctuations):
            return True
        return self.clock is not None and record["ts"] < self.clock - self.stream.lateness

    def _breaks(self, record: dict[str, Any], index: int, key: tuple[Any, ...], ts: int) -> bool:
        scheme = self.stream.schemes[index]
        if tuple(record.get(FIELDS[c].name) for c in scheme.columns) != key:
            return False
        return scheme.lifespan is None or record["ts"] < ts + scheme.lifespan


def random_line(rng: random.Random, time: int) -> str:
    ts = time + rng.randrange(-6, 7)
    values = {
        "a": rng.choice([None, *range(6)]),
        "b": rng.choice([None, "u", "v", "é"]),
        "x": rng.choice([0.0, -0.0, 1.5]),
    }
    kind = rng.random()
    if kind < 0.06:
        names = rng.choice([["a"], ["a", "b"], ["x", "ts"]])
        return json.dumps({"@punctuate": {n: (values | {"ts": ts})[n] for n in names}, "ts": ts})
    record = {name: value for name, value in values.items() if value is not None or rng.random() < 0.5}
    return json.dumps({**record, "ts": ts, **({"@op": "-"} if kind < 0.2 else {})})


def bound(definition: StreamDef, mark: dict[str, Any]) -> dict[str, Any]:
    """What a punctuation binds; all else in it is NULL."""
    names = [f"c{c}" for c in definition.schemes[mark["_scheme"]].columns]
    assert all(value is None for name, value in mark.items() if name not in ("_q", "_scheme", "_t", *names))
    return {name: mark[name] for name in names}


@seeds(60)
def test_equals_the_plain_judge_however_cut(seed: int) -> None:
    rng = random.Random(seed)
    lifespan, retractable = rng.choice([None, 8]), rng.random() < 0.5
    reused = lifespan is not None and not retractable
    first, last = (
        Scheme((0,), lifespan, reused=reused),
        Scheme((2, 3), lifespan, reused=reused and seed % 3 > 0),
    )
    definition = stream(
        lateness=rng.choice([0, 3, 50]),
        retractable=retractable,
        schemes=(first, Scheme((1, 0), rng.choice([None, 5])), last),
    )
    lines = [random_line(rng, i // 3) for i in range(300)]
    judge = PlainJudge(definition)
    for number, text in enumerate(lines, 1):
        judge.line(number, text)

    admission, at, rows, dead, marks = Admission(definition), 0, [], [], []
    while at < len(lines):
        size = rng.choice([1, 2, 7, 100, 300])
        admitted = admission.admit(parse(definition, lines[at : at + size], at + 1))
        rows += admitted.rows.to_pylist()
        dead += [letter["line"] for letter in admitted.dead]
        marks += admitted.punctuations.to_pylist()
        at += size
        admission = Admission(
            definition, read_json(write_json(admission.state()), AdmissionState), admission.runs()
        )
    assert rows and dead and marks
    assert dead == judge.dead
    assert [row.pop("_q") for row in rows] == [q for q, _, _ in judge.accepted]
    assert [row.pop("_o", 1) for row in rows] == [op for _, op, _ in judge.accepted]
    assert rows == [row for _, _, row in judge.accepted]
    for_ever = [mark for mark in marks if definition.schemes[mark["_scheme"]].lifespan is None]
    assert [
        (m["_q"], m["_scheme"], m["_t"], bound(definition, m)) for m in for_ever
    ] == judge.new_punctuations
    assert admission.clock == judge.clock and admission.watermark == judge.clock - definition.lateness


DIRTY = ("", "  ", "null", '{"ts":1', '{"a":"x","ts":1}', '{"@punctuate":{"a":1}}', '{"@punctuate":0,"ts":1}')


@seeds(10)
def test_many_lines_at_once_equal_one_line_at_a_time(seed: int) -> None:
    """Rows with their arrivals, punctuations with positions, dead letters with reasons, and the clock."""
    rng = random.Random(seed)
    definition = stream(
        lateness=rng.choice([0, 4]),
        retractable=rng.random() < 0.5,
        schemes=(Scheme((0,)), Scheme((1, 0)), Scheme((2, 3))),
    )
    dirt = rng.choice([0.0, 0.02])
    lines = [rng.choice(DIRTY) if rng.random() < dirt else random_line(rng, i // 3) for i in range(400)]
    one, many = Admission(definition), Admission(definition)
    singly = [one.admit(parse(definition, [line], at)) for at, line in enumerate(lines, 1)]
    at, together = 0, []
    while at < len(lines):
        size = rng.choice([3, 50, 400])
        whole = parse(definition, lines[at : at + size], at + 1)
        parts = [whole]
        while rng.random() < 0.5:  # cut anywhere
            parts[-1:] = parts[-1].split(rng.randrange(at + 1, at + size + 2))
        together += [many.admit(part) for part in parts]
        at += size
    assert whole_of(together) == whole_of(singly)
    assert all(whole_of(singly)) and many.state().clock == one.state().clock


def whole_of(admitted: list[Admitted]) -> tuple[list[Any], ...]:
    return (
        [row for part in admitted for row in part.rows.to_pylist()],
        [row for part in admitted for row in part.punctuations.to_pylist()],
        [letter for part in admitted for letter in part.dead],
    )


def test_exactly_lateness_late_is_in_time() -> None:
    definition = stream(lateness=5)
    admitted = Admission(definition).admit(
        parse(definition, ['{"ts":10}', '{"ts":5}', '{"ts":4}', '{"ts":5}'])
    )
    assert admitted.rows.column("c3").to_pylist() == [10, 5, 5]
    assert [letter["line"] for letter in admitted.dead] == [3]
    assert "LATENESS 5" in admitted.dead[0]["reason"] and admitted.dead[0]["record"] == '{"ts":4}'
    assert "_o" not in admitted.rows.schema.names


def test_a_negative_in_an_append_only_stream_is_dead_and_moves_no_clock() -> None:
    definition = stream()
    admission = Admission(definition)
    admitted = admission.admit(parse(definition, ['{"@op":"-","ts":90}', '{"ts":1}']))
    assert len(admitted.dead) == 1 and admitted.rows.num_rows == 1 and admission.clock == 1


def test_latest_counts_negative_tuples_too() -> None:
    definition = stream(retractable=True)
    admission = Admission(definition)
    admitted = admission.admit(parse(definition, ['{"ts":1}', '{"@op":"-","ts":90}']))
    assert admitted.latest == 90
    assert admission.clock == 90


def test_a_late_punctuation_is_a_punctuation_and_moves_no_clock() -> None:
    definition = stream(schemes=(Scheme((0,)),))
    lines = ['{"a":1,"ts":50}', '{"@punctuate":{"a":1},"ts":3}', '{"@punctuate":{"a":2},"ts":99}']
    admission = Admission(definition)
    admitted = admission.admit(parse(definition, [*lines, '{"a":1,"ts":50}', '{"a":3,"ts":50}']))
    assert [letter["line"] for letter in admitted.dead] == [4] and admission.clock == 50
    assert admitted.punctuations.column("_q").to_pylist() == [1, 1]


def test_watermark_saturates() -> None:
    definition = stream(lateness=FOREVER)
    admission = Admission(definition)
    assert admission.watermark == NEVER
    lines = [json.dumps({"ts": ts}) for ts in (5, NEVER + 1, FOREVER - 1, 7)]
    assert admission.admit(parse(definition, lines)).rows.column("c3").to_pylist() == [5, FOREVER - 1, 7]
    assert admission.watermark == -1
    low = Admission(definition)
    low.admit(parse(definition, [json.dumps({"ts": NEVER + 1})]))
    assert low.watermark == NEVER


def test_lapsed_punctuations_are_dropped_and_runs_stay_few() -> None:
    definition = stream(schemes=(Scheme((0,), 10), Scheme((1,))))
    admission = Admission(definition)
    for i in range(300):
        lines = [
            json.dumps({"@punctuate": {"a": i}, "ts": i}),
            json.dumps({"@punctuate": {"b": str(i)}, "ts": i}),
        ]
        admission.admit(parse(definition, [*lines, json.dumps({"ts": i})]))
    assert len(admission.kept[0]) <= 40 and len(admission.kept[1]) == 300
    assert len(admission.runs()) < 24
    assert all(isinstance(run, pa.RecordBatch) for run in admission.runs().values())
