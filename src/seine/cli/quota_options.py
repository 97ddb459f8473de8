"""The options of `seine serve` that say how much each owner of queries may have."""

from __future__ import annotations

import argparse

from seine.cli.hosting import positive
from seine.service.access.quotas import Quota

_OPTIONS = {
    "--owner-queries": "most queries of an owner (default: any number)",
    "--owner-joins": "most joins that the queries of an owner use (default: any number)",
    "--owner-state-rows": "most rows and groups that the queries of an owner hold (default: any number)",
    "--owner-candidates": "most pairs that joins of an owner look at in a micro-batch (default: any number)",
    "--owner-records": "most records of an owner in a micro-batch (default: any number)",
}


def add_quota(parser: argparse.ArgumentParser) -> None:
    for option, text in _OPTIONS.items():
        parser.add_argument(option, metavar="N", type=positive, help=text)


def quota_of(arguments: argparse.Namespace) -> Quota:
    """What the options say."""
    return Quota(
        arguments.owner_queries,
        arguments.owner_joins,
        arguments.owner_state_rows,
        arguments.owner_candidates,
        arguments.owner_records,
    )
