"""Imports point one way: a package may use only what is listed for it, and only what stands above it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "seine"
FILES = sorted(SOURCE.rglob("*.py"))

# part -> the parts it may import; a part may name a package or one module of a package
LAYERS: dict[str, tuple[str, ...]] = {
    "errors": (),
    "algebra": ("errors",),
    "network.nodes": ("algebra", "errors"),
    "frontends": ("algebra", "errors"),
    "network.tables": ("algebra", "errors"),
    "shedding": ("errors",),
    "operators": ("algebra", "errors", "network.nodes", "network.tables", "shedding"),
    "optimizer": ("algebra", "errors", "operators.evaluate"),
    "safety": ("algebra", "errors", "frontends", "optimizer"),
    "sharing": ("algebra", "errors", "network.nodes", "network.tables"),
    "network": ("algebra", "errors", "safety", "optimizer", "sharing", "network.nodes"),
    "catalog": ("algebra", "errors", "optimizer.canonical"),
    "intake": ("algebra", "errors", "operators.clock", "operators.delta", "operators.hashing"),
    "runtime": (
        "algebra",
        "errors",
        "frontends",
        "safety",
        "operators",
        "optimizer.estimates",
        "network",
        "sharing.strategy",
        "catalog",
        "intake",
    ),
    "archive": ("algebra", "errors", "operators", "optimizer", "network", "intake", "shedding"),
    "engine": (
        "algebra",
        "errors",
        "frontends",
        "safety",
        "network",
        "sharing.strategy",
        "catalog",
        "intake",
        "runtime",
    ),
    "service": (
        "algebra",
        "errors",
        "frontends",
        "optimizer.canonical",
        "network",
        "sharing.strategy",
        "catalog",
        "intake",
        "runtime",
        "engine",
    ),
    "local": ("engine", "errors", "frontends", "runtime", "sharing.strategy"),
    "spark": ("algebra", "errors", "frontends", "operators", "network", "intake", "runtime", "engine"),
    "demo": ("errors",),
}
# above these stands only what drives everything: it may import all of them
FACADES = {"cli", "bench", "__main__", "__init__"}

# outside library -> the only parts that may know it
OUTSIDE = {
    "pyspark": {"spark", "bench"},  # a benchmark also runs what Spark does by itself
    "sqlglot": {"frontends"},
    "sqlalchemy": {"catalog", "intake"},  # relations may be tables
    "duckdb": {"bench"},
}
LONGEST = 500


def module_of(path: Path) -> str:
    """The module's name below the package: `network.nodes`."""
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


def imports_of(path: Path) -> Iterator[str]:
    """Every module that a file imports, inside functions too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}: a relative import"
            yield node.module or ""
            if node.module == "seine":
                yield from (f"seine.{alias.name}" for alias in node.names)


def within(module: str, part: str) -> bool:
    return module == part or module.startswith(f"{part}.")


def layer_of(module: str) -> str | None:
    """The part that a module belongs to: the longest name that fits."""
    return max((part for part in LAYERS if within(module, part)), key=len, default=None)


def wrong_imports(path: Path) -> list[str]:
    module = module_of(path)
    layer = layer_of(module)
    inside = [name.removeprefix("seine.") for name in imports_of(path) if name.startswith("seine.")]
    if module.partition(".")[0] in FACADES:
        return []
    assert layer, f"{module} belongs to no layer: give it one"
    allowed = (layer, *LAYERS[layer])
    return [f"{module} imports {name}" for name in inside if not any(within(name, part) for part in allowed)]


def test_layers_point_one_way() -> None:
    order = list(LAYERS)
    for position, (layer, allowed) in enumerate(LAYERS.items()):
        below = order[:position]
        assert all(any(within(part, other) for other in below) for part in allowed), layer


def test_modules_import_only_what_their_layer_may() -> None:
    assert len(FILES) > 10
    assert [wrong for path in FILES for wrong in wrong_imports(path)] == []


@pytest.mark.parametrize("library", OUTSIDE)
def test_outside_libraries_stay_in_their_packages(library: str) -> None:
    users = {module_of(path) for path in FILES if any(within(name, library) for name in imports_of(path))}
    assert {user for user in users if user.partition(".")[0] not in OUTSIDE[library]} == set()


def test_no_file_is_too_long() -> None:
    lengths = {module_of(path): len(path.read_text(encoding="utf-8").splitlines()) for path in FILES}
    assert {module: count for module, count in lengths.items() if count > LONGEST} == {}
