"""Imports point one way: a package may use only what is listed for it, and only what stands above it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.source_tree import (
    FILES,
    SOURCE,
    imports_of,
    module_of,
    package_of,
    seine_imports,
    tree_of,
)

# package -> the packages it may import
LAYERS: dict[str, tuple[str, ...]] = {
    "errors": (),
    "backoff": (),
    "disk_sync": (),
    "rare_collections": (),
    "scratch_folder": (),
    "shortages": (),
    "typed_json": (),
    "postgres_timeouts": (),
    "process_limits": (),
    "storage": ("disk_sync", "typed_json"),
    "algebra": ("errors",),
    "rows": ("algebra",),
    "documents": ("algebra", "rows"),
    "user_code": ("process_limits", "typed_json", "algebra", "errors", "rows"),
    "evaluate": ("algebra", "rows", "documents", "user_code"),
    "graph": ("algebra",),
    "frontends": ("algebra", "errors"),
    "shedding": ("algebra",),
    "keyword_networks": ("algebra", "errors", "rows"),
    "document_templates": ("algebra",),
    "operators": (
        "process_limits",
        "disk_sync",
        "typed_json",
        "algebra",
        "errors",
        "rows",
        "user_code",
        "evaluate",
        "documents",
        "graph",
        "shedding",
    ),
    "optimizer": ("algebra", "evaluate"),
    "safety": ("algebra", "errors", "frontends", "optimizer"),
    "network": (
        "keyword_networks",
        "algebra",
        "errors",
        "documents",
        "graph",
        "document_templates",
        "operators",
        "optimizer",
        "safety",
    ),
    "catalog": ("backoff", "algebra", "errors", "optimizer", "typed_json"),
    "intake": (
        "backoff",
        "storage",
        "algebra",
        "errors",
        "rows",
        "documents",
        "typed_json",
        "postgres_timeouts",
    ),
    "topics": ("typed_json", "algebra", "errors", "intake"),
    "runtime": (
        "storage",
        "rare_collections",
        "disk_sync",
        "algebra",
        "errors",
        "rows",
        "user_code",
        "evaluate",
        "graph",
        "operators",
        "optimizer",
        "network",
        "intake",
        "typed_json",
    ),
    "sinks": (
        "storage",
        "backoff",
        "disk_sync",
        "typed_json",
        "postgres_timeouts",
        "algebra",
        "errors",
        "frontends",
        "network",
        "catalog",
        "intake",
        "runtime",
    ),
    "archive": (
        "storage",
        "scratch_folder",
        "algebra",
        "errors",
        "rows",
        "evaluate",
        "shedding",
        "operators",
        "optimizer",
        "network",
        "intake",
    ),
    "lifecycle": (
        "rare_collections",
        "algebra",
        "errors",
        "frontends",
        "graph",
        "operators",
        "optimizer",
        "network",
        "catalog",
        "intake",
        "runtime",
        "sinks",
    ),
    "run_record": (
        "storage",
        "disk_sync",
        "algebra",
        "catalog",
        "errors",
        "frontends",
        "lifecycle",
        "safety",
        "network",
        "runtime",
        "sinks",
        "typed_json",
    ),
    "run": (
        "graph",
        "lifecycle",
        "run_record",
        "rare_collections",
        "scratch_folder",
        "algebra",
        "errors",
        "operators",
        "optimizer",
        "frontends",
        "safety",
        "network",
        "intake",
        "runtime",
        "sinks",
    ),
    "run_local": ("scratch_folder", "errors", "operators", "frontends", "network", "runtime", "run"),
    "testing": ("scratch_folder", "algebra", "errors", "user_code", "frontends", "run", "run_local"),
    "service": (
        "backoff",
        "storage",
        "lifecycle",
        "process_limits",
        "shortages",
        "disk_sync",
        "typed_json",
        "scratch_folder",
        "algebra",
        "errors",
        "rows",
        "documents",
        "graph",
        "operators",
        "frontends",
        "optimizer",
        "safety",
        "network",
        "catalog",
        "intake",
        "topics",
        "runtime",
        "sinks",
        "run",
        "run_local",
    ),
    "spark": (
        "backoff",
        "storage",
        "disk_sync",
        "lifecycle",
        "scratch_folder",
        "typed_json",
        "algebra",
        "errors",
        "user_code",
        "operators",
        "frontends",
        "safety",
        "network",
        "intake",
        "topics",
        "runtime",
        "run",
    ),
    "demo": ("algebra",),
}
# inside a package: its rooms, each of which may import those above it; the package's own modules come last
ROOMS: dict[str, tuple[str, ...]] = {
    "algebra": (),
    "evaluate": ("kernels",),
    "frontends": ("text", "sql", "keyword", "xscl", "script"),
    "operators": (
        "state",
        "match",
        "stream",
        "join",
        "multi_join",
        "aggregates",
        "group",
        "rank",
        "limited",
        "search",
        "documents",
    ),
    "safety": ("graph", "states", "plans", "cures"),
    "network": ("plan", "site", "joins", "groups", "searches"),
    "catalog": ("tables", "index"),
    "runtime": ("folder", "output", "flow"),
    "benchmarks": (
        "harness",
        "workloads",
        "sides",
        "engine",
        "sharing",
        "safety",
        "star",
        "search",
        "xscl",
        "nexmark",
    ),
}
# above these stands only what drives everything: it may import all of them
FACADES = {"cli", "benchmarks", "__main__", "__init__"}

# outside library -> the only packages that may know it
OUTSIDE: dict[str, set[str]] = {
    "pyspark": {"spark", "benchmarks", "user_code"},  # a benchmark also runs Spark by itself; its cloudpickle
    "sqlglot": {"frontends"},
    "sqlalchemy": {"catalog", "intake"},  # relations may be tables
    "duckdb": {"benchmarks"},
    "pyflink": {"benchmarks"},
    "confluent_kafka": {"sinks", "topics", "benchmarks"},
    "psycopg": {"sinks"},
    "fastapi": {"service"},
    "starlette": {"service"},
    "uvicorn": {"service"},
    "h11": {"service"},
    "pydantic": {"service"},
    "lxml": {"documents"},
}


def top(package: str) -> str:
    return package.partition(".")[0]


def wrong_imports(path: Path) -> list[str]:
    layer = top(package_of(path))
    if layer in FACADES:
        return []
    assert layer in LAYERS, f"{module_of(path)} belongs to no layer: give it one"
    allowed = (layer, *LAYERS[layer])
    return [f"{module_of(path)} imports {name}" for name in seine_imports(path) if top(name) not in allowed]


def test_layers_point_one_way() -> None:
    order = list(LAYERS)
    for position, (layer, allowed) in enumerate(LAYERS.items()):
        assert {*allowed} <= {*order[:position]}, layer


def test_packages_import_only_what_their_layer_may() -> None:
    assert len(FILES) > 10
    assert [wrong for path in FILES for wrong in wrong_imports(path)] == []


def test_the_package_knows_no_benchmark() -> None:
    package = [path for path in FILES if path.is_relative_to(SOURCE)]
    assert len(package) > 10
    assert [module_of(path) for path in package if "benchmarks" in map(top, seine_imports(path))] == []


def test_nothing_is_listed_that_is_not_imported() -> None:
    used = {
        layer: {top(name) for p in FILES if top(package_of(p)) == layer for name in seine_imports(p)}
        for layer in LAYERS
    }
    assert {
        layer: {*allowed} - used[layer] for layer, allowed in LAYERS.items() if {*allowed} - used[layer]
    } == {}


@pytest.mark.parametrize("package", ROOMS)
def test_rooms_of_a_package_point_one_way(package: str) -> None:
    order = [*(f"{package}.{room}" for room in ROOMS[package]), package]
    wrong = []
    for path in FILES:
        me = package_of(path)
        if me not in order:
            continue
        below = order[: order.index(me) + 1]
        wrong += [
            f"{module_of(path)} imports {name}"
            for name in seine_imports(path)
            if name in order and name not in below
        ]
    assert wrong == []


@pytest.mark.parametrize("library", OUTSIDE)
def test_outside_libraries_stay_in_their_packages(library: str) -> None:
    users = {
        top(package_of(path))
        for path in FILES
        if any(name == library or name.startswith(f"{library}.") for name in imports_of(path))
    }

    assert users <= OUTSIDE[library]


def test_msgspec_learns_types_in_one_place() -> None:
    """Elsewhere two threads could teach it the same type at once, which ends the process."""
    teachers = {module_of(path) for path in FILES if [*_learned_types(path)]}
    assert teachers == {"typed_json"}


def _learned_types(path: Path) -> Iterator[ast.expr]:
    """The decoders, conversions and typed decodings of msgspec in a file."""
    if not any(name.partition(".")[0] == "msgspec" for name in imports_of(path)):
        return
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            if name.startswith("msgspec."):
                name = name.rpartition(".")[2]
            typed = name.endswith("decode") and any(one.arg == "type" for one in node.keywords)
            if typed or name in ("Decoder", "convert"):
                yield node
