"""What is not used is deleted: everything is come to from a command, a benchmark or the Python interface."""

from __future__ import annotations

import ast

from tests.architecture.reachable import BENCH, COMMAND, definitions, reachable

# what a program may call: `seine.Engine`, `seine.Aggregate`, what their runs give them, `seine.testing`
INTERFACE = (
    "user_code.child:main",  # in another process
    "__init__:__getattr__",
    "spark.engine:Engine",
    "spark.engine:Engine.explain",
    "spark.running:Running.statistics",
    "spark.running:Running.end_input",
    "algebra.aggregates:UserAggregate",
    "algebra.user_functions:function",
    "testing:run_script",
    "testing:Result.rows",
    # stores, and what is built on them
    "storage.memory:MemoryStore",
    "storage.log:Log",
    "storage.log:Log.since_whole",
    "storage.lease:Lease",
)


def _unreached() -> set[str]:
    """Functions and classes, the members of unreached classes apart."""
    reached = reachable(COMMAND, BENCH, *INTERFACE)
    return {
        name
        for name, node in definitions().items()
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
        and name not in reached
        and ("." not in name.partition(":")[2] or name.rpartition(".")[0] in reached)
    }


def test_everything_is_used() -> None:
    assert len(definitions()) > 3000
    assert sorted(_unreached()) == []


def test_the_search_follows_references() -> None:
    reached = reachable(COMMAND)
    assert {"run:Run", "runtime.flow.tasks:read_slices", "spark.stage:Stage.handleInputRows"} <= reached
    assert "cli.tail_command:command" in reached  # by a module that is handed about
    assert "network.build:Builder" not in reachable("errors:SeineError")
