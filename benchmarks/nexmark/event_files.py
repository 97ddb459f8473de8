"""Nexmark's events as files that all sides read, and scripts that declare what their queries use."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa

from seine.algebra.plan import Lookup, Scan, walk
from seine.demo.json_lines import write_json_lines
from seine.demo.nexmark.events import declarations, make_nexmark, side_input
from seine.frontends.script.parser import read_script


def write_events(folder: Path, events: int, batches: int, rate: int, *, bids: bool = True) -> None:
    """A folder for each stream, with a file for each of so many equal stretches of time."""
    made = make_nexmark(events, rate=rate, bids=bids).tables()
    last = int(made["bid" if bids else "auction"]["date_time"].cast(pa.int64()).to_numpy()[-1])
    first = int(made["person"]["date_time"].cast(pa.int64()).to_numpy()[0])
    edges = np.linspace(first, last + 1, batches + 1)[1:-1]
    for name, table in made.items():
        (folder / name).mkdir(parents=True)
        cuts = np.searchsorted(table["date_time"].cast(pa.int64()).to_numpy(), edges)
        bounds = [0, *cuts.tolist(), table.num_rows]
        for number, (start, end) in enumerate(pairwise(bounds)):
            write_json_lines(table.slice(start, end - start), folder / name / f"{number:06d}.jsonl")
    write_json_lines(side_input(), folder / "side_input.jsonl")


def write_script(folder: Path, name: str, queries: str) -> Path:
    """A script of these statements in a folder with events; streams that no query reads are not declared."""
    path = folder / f"{name}.sql"
    path.write_text(declarations() + queries, encoding="utf-8")
    plans = [query.plan for query in read_script(str(path)).declarations.queries.values()]
    read = {part.stream.name for plan in plans for part in walk(plan) if isinstance(part, Scan)}
    read |= {part.relation.name for plan in plans for part in walk(plan) if isinstance(part, Lookup)}
    wanted = [text for table, text in _statements().items() if table in read]
    path.write_text("\n".join([*wanted, queries]), encoding="utf-8")
    return path


def _statements() -> Mapping[str, str]:
    """The declaration of each stream and relation by its name."""
    texts = [f"{text.strip()};" for text in declarations().split(";") if text.strip()]
    return {text.split()[2]: text for text in texts}
