"""`seine demo`: a bundled demonstration from end to end."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from seine.cli.hosting import add_hosting, buckets, carried
from seine.cli.progress_line import ProgressLine
from seine.demo import DESCRIPTIONS, write_demo
from seine.frontends.script.script import Script
from seine.frontends.script.script_file import read_script
from seine.network.show.explain import explain_html
from seine.run import Options, Run
from seine.runtime.output.run_statistics import RunStatistics
from seine.runtime.output.sink import Sink

_ABOUT = """\
Run the bundled demonstration: made-up money transfers with crime planted in them, and 29 standing
alerts from simple selections to four-way self-joins, all in one Spark pipeline. It prints the first
records of each alert as they are found, then a summary, and leaves everything in a folder to look at.
"""
_SHOWN = 2  # records of each alert that are printed as they are found


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "demo",
        help="watch it work",
        description=_ABOUT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", metavar="NAME", nargs="?", choices=["fedwire"], help="fedwire (the main one)")
    parser.add_argument(
        "--folder", metavar="DIR", help="where data, alerts and picture go (default: a new one)"
    )
    add_hosting(parser)
    parser.set_defaults(command=command, hosts=True)


def command(arguments: argparse.Namespace) -> int:
    started = time.monotonic()
    folder = Path(arguments.folder or tempfile.mkdtemp(prefix="seine-demo-"))
    path = write_demo(folder)
    script = read_script(str(path))
    print(f"{len(script.declarations.queries)} standing alerts over made-up transfers; starting Spark ...")
    printer = AlertPrinter(folder / "alerts.jsonl")
    with ProgressLine() as progress:
        printer.line = progress
        options = Options(
            out=str(printer.path), batch_rows=10_000, buckets=buckets(arguments), progress=printer.after_batch
        )
        with carried(script, options, arguments) as run:
            _draw(run, script, folder / "network.html")
            statistics = run.statistics(time.monotonic() - started)
    printer.close()
    _summarise(statistics, printer, folder)
    return 0


class AlertPrinter:
    """Follows the output file and prints the first records of each alert."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.write_bytes(b"")
        self._file = path.open("rb")
        self.counts: Counter[str] = Counter()
        self.line: ProgressLine | None = None

    def after_batch(self, sink: Sink) -> None:
        for text in self._file:
            record = json.loads(text)
            self.counts[record["query"]] += 1
            if self.counts[record["query"]] <= _SHOWN:
                self._show(record)
        if self.line:
            self.line(sink)

    def close(self) -> None:
        self._file.close()

    def _show(self, record: dict[str, Any]) -> None:
        if self.line:
            self.line.clear()
        width = shutil.get_terminal_size((120, 24)).columns
        cells = "  ".join(f"{name}={value}" for name, value in record["row"].items())
        print(f"{record['op']} {record['query']:<19} {cells}"[:width], flush=True)


def _draw(run: Run, script: Script, path: Path) -> None:
    declared = script.declarations
    path.write_text(
        explain_html(run.network, declared.streams, relations=declared.relations), encoding="utf-8"
    )


def _summarise(statistics: RunStatistics, printer: AlertPrinter, folder: Path) -> None:
    print(f"\n{'alert':<20} {'records':>8}  what it watches for")
    for query, meaning in DESCRIPTIONS.items():
        print(f"{query:<20} {printer.counts[query]:>8,}  {meaning}")
    network = statistics.network
    print(
        f"\n{statistics.input_rows:,} transfers, {statistics.output_rows:,} records, "
        f"{statistics.batches} micro-batches in {statistics.elapsed_s:.0f} s; "
        f"{network.queries} queries share {network.nodes} nodes, {network.joins} of them joins"
    )
    print(f"the network as a picture:  {os.path.join(folder, 'network.html')}")
    print(f"script, data and alerts:   {folder}")
