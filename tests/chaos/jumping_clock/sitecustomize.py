"""A wall clock that jumps: Python imports this first, in processes that have its folder on their path.

`SEINE_CHAOS_CLOCK` names a file with a number of seconds, by which `time.time` is ahead of the clock. So
hours pass in an instant, for the service and its workers, and nothing in Seine knows of it. Python imports
one such module alone, so this one brings the texts that do harm, too.
"""

import os
import time

import deadly_reverse  # noqa: F401

_now = time.time


def _jumping() -> float:
    try:
        with open(os.environ["SEINE_CHAOS_CLOCK"]) as file:
            return _now() + float(file.read() or 0)
    except (KeyError, OSError):
        return _now()


time.time = _jumping
