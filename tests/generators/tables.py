"""Random streams and relations: tiny domains, so that combinations are found."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

COLUMNS = {
    "k": "BIGINT",
    "g": "INT",
    "x": "DOUBLE",
    "s": "STRING",
    "b": "BOOLEAN",
    "d": "DATE",
    "p": "DECIMAL(8,2)",
    "big": "BIGINT",
}


@dataclass(frozen=True)
class Table:
    """A stream or, without a window clause and time, a relation; `kind` is STREAM or RELATION."""

    name: str
    kind: str
    columns: dict[str, str]
    calendar: bool  # the time is a TIMESTAMP
    window: int | None = None
    lateness: int = 0
    retractable: bool = False
    schemes: tuple[tuple[tuple[str, ...], int | None], ...] = ()
    valid: bool = False

    @property
    def is_stream(self) -> bool:
        return self.kind == "STREAM"

    def declaration(self) -> str:
        columns = ", ".join(f"{name} {type_}" for name, type_ in self.columns.items())
        clauses = " ".join(["", *self._clauses()])
        return f"CREATE {self.kind} {self.name} ({columns}){clauses} FROM '{self.name}.jsonl';"

    def _clauses(self) -> list[str]:
        if self.valid:
            return ['VALID FROM begin TO "end"']
        if not self.is_stream:
            return []
        clauses = ["TIMESTAMP BY ts"]
        if self.window is not None:
            clauses.append(f"WINDOW {length(self.window, self.calendar)}")
        if self.lateness:
            clauses.append(f"LATENESS {length(self.lateness, self.calendar)}")
        for names, lifespan in self.schemes:
            lapse = "" if lifespan is None else f" LIFESPAN {length(lifespan, self.calendar)}"
            clauses.append(f"PUNCTUATED ON ({', '.join(names)}){lapse}")
        return clauses + ["RETRACTABLE"] * self.retractable


def length(units: int, calendar: bool) -> str:
    """A span of time: plain units, or as many seconds."""
    return f"INTERVAL '{units}' SECOND" if calendar else str(units)


def random_tables(rng: Random) -> list[Table]:
    calendar = rng.random() < 0.2
    streams = [_stream(rng, f"s{i}", calendar) for i in range(rng.randint(2, 4))]
    relations = [_relation(rng, f"r{i}", calendar) for i in range(rng.randint(0, 2))]
    return streams + relations


def _columns(rng: Random, fewest: int) -> dict[str, str]:
    others = rng.sample([name for name in COLUMNS if name != "k"], rng.randint(fewest, 5))
    names = ["k", *others]
    rng.shuffle(names)
    return {name: COLUMNS[name] for name in names}


def _stream(rng: Random, name: str, calendar: bool) -> Table:
    columns = _columns(rng, 2) | {"ts": "TIMESTAMP" if calendar else "BIGINT"}
    schemes: tuple = ()
    if rng.random() < 0.2:
        second = [other for other in columns if other in ("g", "s", "b")][:1]
        schemes = ((("k", *second), rng.choice([None, 10, 30])),)
    return Table(
        name,
        "STREAM",
        columns,
        calendar,
        window=rng.choice([None, 3, 8, 15, 15, 30]),
        lateness=rng.choice([0, 0, 0, 2, 5]),
        retractable=rng.random() < 0.5,
        schemes=schemes,
    )


def _relation(rng: Random, name: str, calendar: bool) -> Table:
    columns, valid = _columns(rng, 1), rng.random() < 0.6
    if valid:
        moment = "TIMESTAMP" if calendar else "BIGINT"
        columns |= {"begin": moment, '"end"': moment}
    return Table(name, "RELATION", columns, calendar, valid=valid)
