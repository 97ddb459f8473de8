"""The option `--udf FILE`: Python files whose functions and aggregates queries may use."""

from __future__ import annotations

import argparse


def add_udf(parser: argparse.ArgumentParser) -> None:
    """Add the option; it may be given several times."""
    parser.add_argument(
        "--udf",
        metavar="FILE",
        action="append",
        default=[],
        help="a Python file whose functions queries may use; may be repeated",
    )


def register_udf(arguments: argparse.Namespace) -> None:
    """Register the functions of all files that a command was given."""
    if getattr(arguments, "udf", None):
        from seine.algebra.functions.user_modules import register_modules

        register_modules(arguments.udf)
