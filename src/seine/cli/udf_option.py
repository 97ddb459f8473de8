"""The option `--udf FILE`: Python files whose functions and aggregates queries may use, and what these may take."""

from __future__ import annotations

import argparse
import math

from seine.user_code.limits import MOST_ROWS, FunctionLimits

_LEAST_BYTES = 256 << 20  # Python and Arrow alone have about half of it


def add_udf(parser: argparse.ArgumentParser) -> None:
    """Add the option; it may be given several times."""
    parser.add_argument(
        "--udf",
        metavar="FILE",
        action="append",
        default=[],
        help="a Python file whose functions queries may use; may be repeated",
    )


def add_function_limits(parser: argparse.ArgumentParser) -> None:
    """Add the options that bound what functions and aggregates of users may take where they run."""
    usual = FunctionLimits()
    parser.add_argument(
        "--function-seconds",
        metavar="S",
        type=_seconds,
        default=usual.seconds,
        help=f"longest that a function of yours takes for a batch of {MOST_ROWS:,} rows or less ({usual.seconds:g})",
    )
    parser.add_argument(
        "--function-bytes",
        metavar="N",
        type=_bytes,
        default=usual.bytes,
        help="most memory of the process that runs functions of yours, in each worker (2 GiB)",
    )


def function_limits(arguments: argparse.Namespace) -> FunctionLimits:
    """What the options say."""
    return FunctionLimits(arguments.function_seconds, arguments.function_bytes)


def _seconds(text: str) -> float:
    seconds = float(text)
    if not (math.isfinite(seconds) and seconds > 0):
        raise argparse.ArgumentTypeError("must be above 0")
    return seconds


def _bytes(text: str) -> int:
    size = int(text)
    if size < _LEAST_BYTES:
        raise argparse.ArgumentTypeError(f"must be at least {_LEAST_BYTES:,}: the process itself needs that")
    return size


def register_udf(arguments: argparse.Namespace) -> None:
    """Register the functions of all files that a command was given."""
    if getattr(arguments, "udf", None):
        from seine.algebra.functions.user_modules import register_modules

        register_modules(arguments.udf)
