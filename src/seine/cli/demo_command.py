"""`seine demo`: a bundled demonstration from end to end.

Trees of searches for a person to look at: as text while they are found, and drawn on a page.

Prints the first records of each query of a demonstration, as they are written.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from seine.cli.hosting import add_hosting, buckets, carried
from seine.cli.progress_line import ProgressLine
from seine.demo import DESCRIPTIONS, FOLLOWED, write_demo, write_news, write_search_demo
from seine.demo.news import sentence
from seine.demo.nexmark.events import QUERIES, make_nexmark, write_nexmark
from seine.demo.nexmark.events import meaning as meaning_of
from seine.demo.tree_page import SearchResults, found_tree, tree_lines, tree_page
from seine.document_templates.templates_of_plans import queries_by_template
from seine.frontends.script.parser import read_script
from seine.frontends.script.script import Script
from seine.network.show.explain import explain_html, template_users
from seine.run import Options, Run
from seine.runtime.output.query_figures import RunStatistics
from seine.runtime.output.sink import Sink

_ABOUT = """\
Run a bundled demonstration, all of it in one Spark pipeline. `fedwire`, the main one: made-up money
transfers with crime planted in them, and 29 standing alerts from simple selections to four-way self-joins.
`search`: made-up feeds of films, people and news, and 30 standing keyword searches over them; a result is
the way in which the words are connected. `feeds`: made-up news of 400 channels, and 10,000 subscriptions to
what is posted again, answered or written about twice; four of them are followed. `nexmark`: made-up persons,
auctions and bids with Nexmark's distributions, and its queries over them. It prints the first records of each
query as they are found, then a summary, and leaves everything in a folder to look at.
"""
_SHOWN = 2  # records of each alert that are printed as they are found
_SENTENCES = 5  # records of each reader that are printed
_NEXMARK_EVENTS = 50_000
_TREES_PRINTED, _TREES_DRAWN = 1, 4  # of each search


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "demo",
        help="watch it work",
        description=_ABOUT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "name",
        metavar="NAME",
        nargs="?",
        choices=["fedwire", "search", "feeds", "nexmark"],
        help="fedwire (the main one), search, feeds, nexmark",
    )
    parser.add_argument(
        "--folder", metavar="DIR", help="where data, results and picture go (default: a new one)"
    )
    add_hosting(parser)
    parser.set_defaults(command=command, hosts=True)


def command(arguments: argparse.Namespace) -> int:
    folder = Path(arguments.folder or tempfile.mkdtemp(prefix="seine-demo-"))
    if arguments.name == "search":
        _show_searches(arguments, folder)
    elif arguments.name == "feeds":
        _show_news(arguments, folder)
    elif arguments.name == "nexmark":
        _show_nexmark(arguments, folder)
    else:
        _show_alerts(arguments, folder)
    return 0


def _show_alerts(arguments: argparse.Namespace, folder: Path) -> None:
    script = read_script(str(write_demo(folder)))
    print(f"{len(script.declarations.queries)} standing alerts over made-up transfers; starting Spark ...")
    printer = RecordPrinter(folder / "alerts.jsonl", _SHOWN, _print_alert)
    statistics = _carry(script, printer, folder, arguments, batch_rows=10_000)
    print(f"\n{'alert':<20} {'records':>8}  what it watches for")
    for query, meaning in DESCRIPTIONS.items():
        print(f"{query:<20} {printer.counts[query]:>8,}  {meaning}")
    _summarise(statistics, "transfers", folder)


def _show_searches(arguments: argparse.Namespace, folder: Path) -> None:
    script = read_script(str(write_search_demo(folder)))
    queries = script.declarations.queries
    print(f"{len(queries)} standing searches over made-up feeds of films and news; starting Spark ...")
    printer = RecordPrinter(folder / "trees.jsonl", _TREES_PRINTED, print_tree, _TREES_DRAWN)
    statistics = _carry(script, printer, folder, arguments, batch_rows=200)
    texts = {query.name: query.text for query in queries.values()}
    print(f"\n{'search':<20} {'records':>8}  what it looks for")
    for name, text in texts.items():
        print(f"{name:<20} {printer.counts[name]:>8,}  {text.removeprefix('SEARCH ')}")
    write_trees(folder / "trees.html", texts, printer)
    _summarise(statistics, "tuples", folder)
    print(f"some of the trees, drawn:  {os.path.join(folder, 'trees.html')}")


def _show_news(arguments: argparse.Namespace, folder: Path) -> None:
    script = read_script(str(write_news(folder)))
    plans = {name: query.plan for name, query in script.declarations.queries.items()}
    templates = len(queries_by_template(plans))
    print(
        f"{len(plans):,} subscriptions to made-up news of 400 channels, of {templates} templates; "
        f"{len(FOLLOWED)} of them are followed; starting Spark ..."
    )
    printer = RecordPrinter(folder / "news-records.jsonl", _SENTENCES, _print_sentence)
    statistics = _carry(script, printer, folder, arguments, batch_rows=2_000)
    print(f"\n{'reader':<20} {'records':>8}  what they want to hear of")
    for name, (meaning, _) in FOLLOWED.items():
        print(f"{name:<20} {printer.counts[name]:>8,}  {meaning}")
    others = sum(count for name, count in printer.counts.items() if name not in FOLLOWED)
    print(f"{'all others':<20} {others:>8,}  {len(plans) - len(FOLLOWED):,} subscriptions")
    _summarise(statistics, "items", folder)


def _show_nexmark(arguments: argparse.Namespace, folder: Path) -> None:
    script = read_script(str(write_nexmark(folder, make_nexmark(_NEXMARK_EVENTS))))
    print(f"{len(QUERIES)} queries of Nexmark over {_NEXMARK_EVENTS:,} made-up events; starting Spark ...")
    printer = RecordPrinter(folder / "records.jsonl", _SHOWN, _print_alert)
    statistics = _carry(script, printer, folder, arguments, batch_rows=10_000)
    print(f"\n{'query':<6} {'records':>8}  what it asks")
    for query in QUERIES:
        print(f"{query:<6} {printer.counts[query]:>8,}  {meaning_of(query)}")
    _summarise(statistics, "events", folder)


def _print_sentence(record: dict[str, Any]) -> None:
    if record["query"] in FOLLOWED:
        print(sentence(record), flush=True)


def _carry(
    script: Script, printer: RecordPrinter, folder: Path, arguments: argparse.Namespace, batch_rows: int
) -> RunStatistics:
    """Run a script to its end, and draw its network."""
    started = time.monotonic()
    with ProgressLine() as progress:
        printer.line = progress
        options = Options(
            out=str(printer.path),
            batch_rows=batch_rows,
            buckets=buckets(arguments),
            progress=printer.after_batch,
        )
        with carried(script, options, arguments) as run:
            _draw(run, script, folder / "network.html")
            statistics = run.statistics(time.monotonic() - started)
    printer.close()
    return statistics


def _print_alert(record: dict[str, Any]) -> None:
    width = shutil.get_terminal_size((120, 24)).columns
    cells = "  ".join(f"{name}={value}" for name, value in record["row"].items())
    print(f"{record['op']} {record['query']:<19} {cells}"[:width], flush=True)


def _draw(run: Run, script: Script, path: Path) -> None:
    declared = script.declarations
    templates = template_users({name: query.plan for name, query in declared.queries.items()})
    page = explain_html(run.network, declared.streams, relations=declared.relations, templates=templates)
    path.write_text(page, encoding="utf-8")


def _summarise(statistics: RunStatistics, what: str, folder: Path) -> None:
    network = statistics.network
    print(
        f"\n{statistics.input_rows:,} {what}, {statistics.output_rows:,} records, "
        f"{statistics.batches} micro-batches in {statistics.elapsed_s:.0f} s; "
        f"{network.queries} queries share {network.nodes} nodes, {network.joins} of them joins"
    )
    print(f"the network as a picture:  {os.path.join(folder, 'network.html')}")
    print(f"script, data and results:  {folder}")


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


Record = dict[str, Any]


class RecordPrinter:
    """Follows the output file: counts the records of each query, and keeps and prints the first of them."""

    def __init__(self, path: Path, shown: int, print_one: Callable[[Record], None], kept: int = 0) -> None:
        self.path = path
        path.write_bytes(b"")
        self._file = path.open("rb")
        self._shown, self._kept, self._print_one = shown, kept, print_one
        self.counts: Counter[str] = Counter()
        self.first: dict[str, list[Record]] = {}
        self.line: ProgressLine | None = None

    def after_batch(self, sink: Sink) -> None:
        """Take in what a micro-batch has written."""
        for text in self._file:
            record = json.loads(text)
            query = record["query"]
            self.counts[query] += 1
            if self.counts[query] <= self._kept:
                self.first.setdefault(query, []).append(record)
            if self.counts[query] <= self._shown:
                if self.line:
                    self.line.clear()
                self._print_one(record)
        if self.line:
            self.line(sink)

    def close(self) -> None:
        self._file.close()
