"""Trees of searches for a person to look at: as text while they are found, and drawn on a page."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from seine.cli.record_printer import Record, RecordPrinter
from seine.demo.found_tree import found_tree, tree_lines
from seine.demo.tree_page import SearchResults, tree_page


def print_tree(record: Record) -> None:
    """Print a tree: its search and life, then a line for each tuple."""
    width = shutil.get_terminal_size((100, 24)).columns
    print(f"{record['op']} {record['query']}  {life_of(record)}"[:width])
    for line in tree_lines(found_tree(record["row"]), width - 4):
        print(f"    {line}", flush=True)


def life_of(record: Record) -> str:
    """From when to when a result holds."""
    end = record["t_end"]
    return f"from {record['t_start']}" + ("" if end is None else f" until {end}")


def write_trees(path: Path, texts: Mapping[str, str], printer: RecordPrinter) -> None:
    """Draw the trees that a printer has kept; `texts` are the searches by name."""
    searches = {
        name: SearchResults(
            text,
            printer.counts[name],
            [(life_of(one), found_tree(one["row"])) for one in printer.first.get(name, ())],
        )
        for name, text in texts.items()
    }
    path.write_text(tree_page("How the words are connected", searches), encoding="utf-8")
