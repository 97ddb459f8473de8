"""The page of the benchmark `search`: its parts, and their sizes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

from seine.bench.harness.table import Table
from seine.bench.search.network_set_up import set_up

# name, what it shows beside what the paper says, and what makes the table
PARTS: tuple[tuple[str, str, Callable[..., Table]], ...] = (
    (
        "set-up",
        "### Setting up (SKWS, Figures 5.3, 5.5 and 5.6)\n\n"
        "Generating all candidate networks of a query. The paper, for the full mesh that is made with them: "
        "2.5 s for three keywords, almost half an hour for five; under 1 s for three tuples, over two "
        "minutes for six.",
        set_up,
    ),
)


def main(sizes: Mapping[str, Mapping[str, Any]], only: str | None = None) -> str:
    """The page of all parts, or of one."""
    pages = []
    for name, text, tabulate in PARTS:
        if only in (None, name):
            print(f"  {name}", file=sys.stderr, flush=True)
            pages.append(f"{text}\n\n{tabulate(**sizes[name])}")
    return "\n\n".join(pages)


FULL: Mapping[str, Mapping[str, Any]] = {
    "set-up": {
        "sizes": (
            *((streams, 2, 4) for streams in (5, 10, 15, 20, 25)),
            *((15, keywords, 4) for keywords in (3, 4, 5)),
            *((15, 2, most) for most in (2, 3, 5, 6)),
        )
    },
}
QUICK: Mapping[str, Mapping[str, Any]] = {
    "set-up": {"sizes": ((5, 2, 3), (5, 3, 3))},
}
