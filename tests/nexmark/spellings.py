"""Other spellings of Nexmark's queries, as engineers of other systems write them: `spellings/*.sql`.

--: ms final              words: how the streams are declared, `final` for emit = 'final', and `unbounded`
--= SELECT ...            DuckDB's answer to this one, if it asks for something else than the query does
SELECT ...;
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from seine.demo.json_lines import write_json_lines
from seine.demo.nexmark.events import Nexmark, declarations, make_nexmark, side_input

_FOLDER = Path(__file__).parent / "spellings"
_KINDS = ("person", "auction", "bid")
_CAMEL = {
    "item_name": "itemName",
    "initial_bid": "initialBid",
    "date_time": "dateTime",
    "email_address": "emailAddress",
    "credit_card": "creditCard",
}
_TYPES = {pa.int64(): "BIGINT", pa.string(): "STRING", pa.timestamp("ms"): "TIMESTAMP"}
PLAIN = "plain"
SCHEMAS = (PLAIN, "camel", "camelplain", "ms", "bare", "window", "flat")


@dataclass(frozen=True)
class Spelling:
    """One spelling of a query: `words` are its settings, `answer` is SQL of DuckDB's if it has its own."""

    name: str
    query: str
    words: frozenset[str]
    answer: str | None
    text: str

    @property
    def schema(self) -> str:
        return next((word for word in self.words if word in SCHEMAS), PLAIN)

    @property
    def is_safe(self) -> bool:
        return "unbounded" not in self.words

    def statement(self, *, bare: bool = False) -> str:
        """CREATE QUERY, perhaps without the word that it may grow."""
        options = ["emit = 'final'"] if "final" in self.words else []
        options += [] if bare or self.is_safe else ["unbounded = true"]
        settings = f" WITH ({', '.join(options)})" if options else ""
        return f"CREATE QUERY {self.name}{settings} AS\n{self.text};\n"


def all_spellings() -> list[Spelling]:
    """Every spelling of the folder."""
    return [one for path in sorted(_FOLDER.glob("q*.sql")) for one in _spellings_of(path)]


def _spellings_of(path: Path) -> Iterator[Spelling]:
    blocks = re.split(r"^--:", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    for number, block in enumerate(blocks):
        head, rest = block.split("\n", 1)
        answer = " ".join(re.findall(r"^--= (.*)$", rest, flags=re.MULTILINE))
        text = re.sub(r"^--= .*\n", "", rest, flags=re.MULTILINE).strip().removesuffix(";")
        yield Spelling(f"{path.stem}_{number}", path.stem, frozenset(head.split()), answer or None, text)


def declared(schema: str) -> str:
    """The statements that declare the streams in one of the ways that there are."""
    plain = declarations()
    match schema:
        case "camel" | "camelplain":
            quote = "`" if schema == "camel" else ""
            for name, other in _CAMEL.items():
                plain = re.sub(rf"\b{name}\b", quote + other + quote, plain)
            return plain
        case "ms":
            return plain.replace("TIMESTAMP(3)", "BIGINT").replace("INTERVAL '4' SECOND", "4000")
        case "bare":
            return plain.replace(" UNIQUE (id)", "")
        case "window":
            return plain.replace("LATENESS", "WINDOW INTERVAL '1' DAY LATENESS")
        case "flat":
            return _flat_declarations()
    return plain


def _flat_declarations() -> str:
    """One stream of all events, and views of it."""
    fields = [(kind, field) for kind, table in make_nexmark(100).tables().items() for field in table.schema]
    placed = [(kind, field) for kind, field in fields if field.name != "date_time"]
    columns = ", ".join(f"{kind}_{field.name} {_TYPES[field.type]}" for kind, field in placed)
    views = ""
    for number, kind in enumerate(_KINDS):
        names = ", ".join(f"{kind}_{field.name} AS {field.name}" for owner, field in placed if owner == kind)
        views += f"CREATE VIEW {kind} AS SELECT {names}, date_time FROM events WHERE event_type = {number};\n"
    return f"""CREATE STREAM events (event_type INT, {columns}, date_time TIMESTAMP)
      TIMESTAMP BY date_time LATENESS INTERVAL '4' SECOND FROM 'events';
    {views}
    CREATE RELATION side_input (key BIGINT, value STRING) FROM 'side_input.jsonl';
    """


def write_events(folder: Path, events: Nexmark, schema: str) -> None:
    """Write the events as the streams of a schema have them."""
    tables = events.tables()
    if schema in ("camel", "camelplain"):
        tables = {
            kind: table.rename_columns([_CAMEL.get(name, name) for name in table.column_names])
            for kind, table in tables.items()
        }
    elif schema == "ms":
        tables = {kind: _in_milliseconds(table) for kind, table in tables.items()}
    elif schema == "flat":
        tables = {"events": _flat(tables)}
    for kind, table in tables.items():
        (folder / kind).mkdir()
        write_json_lines(table, folder / kind / f"{kind}.jsonl")
    write_json_lines(side_input(), folder / "side_input.jsonl")


def _in_milliseconds(table: pa.Table) -> pa.Table:
    fields = [pa.field(f.name, pa.int64() if pa.types.is_timestamp(f.type) else f.type) for f in table.schema]
    return table.cast(pa.schema(fields))


def _flat(tables: dict[str, pa.Table]) -> pa.Table:
    """All events in one table, in the order of their times."""
    parts = []
    for number, kind in enumerate(_KINDS):
        table = tables[kind]
        names = [name if name == "date_time" else f"{kind}_{name}" for name in table.column_names]
        types = pa.array([number] * table.num_rows, pa.int32())
        parts.append(table.rename_columns(names).append_column("event_type", types))
    return pa.concat_tables(parts, promote_options="default").sort_by("date_time")
