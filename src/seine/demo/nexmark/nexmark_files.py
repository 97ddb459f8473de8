"""A folder with Nexmark's events as JSON Lines and a script of its queries."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.demo.json_lines import write_json_lines
from seine.demo.nexmark.events import Nexmark

QUERIES = tuple(f"q{number}" for number in range(23))
SIDE_ROWS = 10_000  # keys of the side input


def declarations() -> str:
    """The statements that declare the three streams and the side input."""
    return _text("streams")


def query_text(name: str) -> str:
    """The statement of a query, with the line that says what it is for.

    >>> print(query_text("q2"))
    -- Selection: bids for some auctions.
    CREATE QUERY q2 AS
      SELECT auction, price FROM bid WHERE MOD(auction, 123) = 0;
    <BLANKLINE>
    """
    return _text(name)


def meaning(name: str) -> str:
    """What a query is for, in a line.

    >>> meaning("q2")
    'Selection: bids for some auctions.'
    """
    return query_text(name).split("\n", 1)[0].removeprefix("-- ")


def write_nexmark(folder: str | Path, events: Nexmark, queries: Sequence[str] = QUERIES) -> Path:
    """Write events and a script of these queries; returns the path of the script.

    Each stream is a folder with one file.
    """
    folder = Path(folder)
    for name, table in events.tables().items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        write_json_lines(table, folder / name / f"{name}.jsonl")
    write_json_lines(side_input(), folder / "side_input.jsonl")
    script = folder / "nexmark.sql"
    script.write_text("\n".join([declarations(), *map(query_text, queries)]), encoding="utf-8")
    return script


def side_input() -> pa.Table:
    """The relation of q13: a value for each key.

    >>> side_input().slice(7, 1).to_pylist()
    [{'key': 7, 'value': 'value-7'}]
    """
    keys = pa.array(np.arange(SIDE_ROWS))
    return pa.table({"key": keys, "value": pc.binary_join_element_wise("value-", keys.cast(pa.string()), "")})


def _text(name: str) -> str:
    return files("seine.demo.nexmark").joinpath("queries", f"{name}.sql").read_text(encoding="utf-8")
