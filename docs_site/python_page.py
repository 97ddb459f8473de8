"""The reference page of the Python package: what a program imports, with its types, from docstrings."""

from __future__ import annotations

_PAGE = """# The Python package

`import seine` needs no Spark before an `Engine` is made. How a program uses it is told in
[From Python](../howto/from_python.md).

::: seine.spark.engine.Engine

::: seine.spark.running.Running

::: seine.testing

::: seine.algebra.user_functions.function

::: seine.algebra.aggregates.UserAggregate

::: seine.algebra.aggregates.FoldedAggregate

::: seine.errors
    options:
      members: [SeineError, ScriptError, SourceError, RunError, Position]
"""


def python_page() -> str:
    return _PAGE
