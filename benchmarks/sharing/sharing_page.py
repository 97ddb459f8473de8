"""Benchmark `sharing` as one page: its parts one after the other, with tables and charts."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.harness.saved_figures import Figures
from benchmarks.harness.table import Table
from benchmarks.sharing import alternatives, curves, gains, jobs, live_registration, registering, scale


@dataclass(frozen=True)
class Part:
    """A part of the page: its name, what it compares, and how it is measured, tabulated and drawn."""

    name: str
    compares: str
    measure: Callable[..., Any]
    tabulate: Callable[[Any], Table]
    pictures: Callable[[Any], dict[str, str]] = lambda measured: {}


PARTS = (
    Part(
        "curves",
        "Configurations of sharing after the history is loaded, in one process without Spark; every query "
        f"has the same number of results in all of them. {curves.PAPER_NOTE}",
        curves.measure,
        curves.tabulate,
        curves.pictures,
    ),
    Part(
        "gains",
        "What single techniques bring, each turned off alone, on money transfers (Fed) and on hospital "
        "admissions (Med), in one process without Spark. Every query has the same number of results with and "
        f"without it. {gains.PAPER_NOTE}",
        gains.measure,
        gains.tabulate,
    ),
    Part(
        "scale",
        "Queries that watch portfolios of accounts, smaller where there are more queries.",
        scale.measure,
        scale.tabulate,
        scale.pictures,
    ),
    Part(
        "registration",
        "From the text of a query to a committed version of the network.",
        registering.measure,
        registering.tabulate,
    ),
    Part(
        "alternatives",
        "Queries of one template on Spark: Seine beside one stream-stream join with a broadcast table of "
        "rules. Both write their results as JSON Lines; a row is a transfer, which Spark reads twice.",
        alternatives.measure,
        alternatives.tabulate,
    ),
    Part(
        "jobs",
        "The queries of the curves on Spark: all in one pipeline, and each in its own, as is done today. "
        "What all of these would cost is scaled from a sample that ran one after the other.",
        jobs.measure,
        jobs.tabulate,
    ),
    Part(
        "live",
        "A service on Spark while queries are registered and dropped, beside the same service left alone; "
        "the medians, and the worst. A batch to a first result is one from the query's first entry on, that "
        "one included; since the call there are also those that were under way.",
        live_registration.measure,
        live_registration.tabulate,
    ),
)


def main(
    parts: Mapping[str, Mapping[str, Any]],
    only: str | None = None,
    resume: str | None = None,
    pictures: str | None = None,
) -> str:
    """The page of all parts, or of one; figures saved in the file `resume` are not measured again."""
    figures = Figures(resume)
    pages = []
    for part in PARTS:
        if only in (None, part.name):
            measured = part.measure(figures, **parts[part.name])
            drawn = part.pictures(measured)
            if pictures:
                _draw(pictures, drawn)
            pages.append(f"### {part.name}\n\n{part.compares}\n\n{part.tabulate(measured)}")
    return "\n\n".join(pages)


def _draw(folder: str, drawn: Mapping[str, str]) -> None:
    os.makedirs(folder, exist_ok=True)
    for name, text in drawn.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
