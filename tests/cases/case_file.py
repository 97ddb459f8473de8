"""The text format of a case.

    A comment: what the case shows.
    === script
    CREATE STREAM ...
    === bid.jsonl
    {"itemid": 1, "ts": 7}
    === expected
    + q1 [7, 27) {"itemid": 1}
    === dead
    bid 3

`[7, open)` has t_end null and `[never, open)` t_start null too; `dead` names table and line of each
dead letter and may be absent. A case of a refusal has, instead of `expected`, a section
`refused` whose lines must occur in the message. Both are multisets: order does not matter.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Record = tuple[str, str, Any, Any, dict[str, Any]]  # query, op, t_start, t_end, row
ANSWERS = ("expected", "dead", "refused")


@dataclass
class Case:
    comment: str
    sections: dict[str, str]

    @staticmethod
    def read(path: Path) -> Case:
        comment, *parts = re.split(r"^=== (.*)\n", path.read_text(encoding="utf-8"), flags=re.M)
        return Case(comment, dict(zip(parts[::2], parts[1::2], strict=True)))

    def write(self, path: Path) -> None:
        sections = "".join(f"=== {name}\n{text}" for name, text in self.sections.items())
        path.write_text(self.comment + sections, encoding="utf-8")

    def unpack(self, folder: Path) -> Path:
        """Write the script and its inputs; give the script's path."""
        for name, text in self.sections.items():
            if name not in ANSWERS and name != "script":
                (folder / name).write_text(text, encoding="utf-8")
        script = folder / "script.sql"
        script.write_text(self.sections["script"], encoding="utf-8")
        return script

    def lines(self, section: str) -> list[str]:
        return [line for line in self.sections.get(section, "").splitlines() if line.strip()]

    def records(self) -> list[Record]:
        return [parse_record(line) for line in self.lines("expected")]

    def dead(self) -> list[tuple[str, int]]:
        return [(table, int(line)) for table, line in map(str.split, self.lines("dead"))]


_RECORD = re.compile(r"([+-]) (\S+) \[(.+), (.+)\) (\{.*\})")


def parse_record(line: str) -> Record:
    match = _RECORD.fullmatch(line)
    if not match:
        raise ValueError(f"not a record: {line}")
    op, query, start, end, row = match.groups()
    return query, op, _time(start), _time(end), json.loads(row)


def print_record(record: dict[str, Any]) -> str:
    start = "never" if record["t_start"] is None else record["t_start"]
    end = "open" if record["t_end"] is None else record["t_end"]
    row = json.dumps(record["row"], ensure_ascii=False, default=float)
    return f"{record['op']} {record['query']} [{start}, {end}) {row}"


def _time(text: str) -> Any:
    if text in ("open", "never"):
        return None
    return int(text) if re.fullmatch(r"-?\d+", text) else text
