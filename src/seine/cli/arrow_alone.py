"""Arrow without pandas, for commands that answer at once.

With the first array that it makes Arrow imports pandas, to know its objects when they are given. That takes
as long as much of the rest of `seine try`, whose values are never objects of pandas.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType


class _WithoutPandas(MetaPathFinder):
    """Finds no pandas, and leaves everything else to others."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname == "pandas":
            raise ModuleNotFoundError("Arrow need not know pandas here", name=fullname)
        return None


def let_arrow_pass_by_pandas() -> None:
    """Let Arrow look for pandas now, and find none; who imports pandas afterwards gets it."""
    if "pandas" in sys.modules:
        return
    absent = _WithoutPandas()
    sys.meta_path.insert(0, absent)
    try:
        import pyarrow as pa

        pa.array([0])
    finally:
        sys.meta_path.remove(absent)
