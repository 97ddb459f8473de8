"""The modules of the product and of its benchmarks as syntax trees, and what each of them imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.support.paths import ROOT

SOURCE = ROOT / "src" / "seine"
BENCHMARKS = ROOT / "benchmarks"
FILES = sorted([*SOURCE.rglob("*.py"), *BENCHMARKS.rglob("*.py")])


def parts_of(path: Path) -> tuple[str, ...]:
    """The folders and the file below `src/seine`, or below the root for a benchmark."""
    return path.relative_to(SOURCE if path.is_relative_to(SOURCE) else ROOT).parts


def module_of(path: Path) -> str:
    """The module's name below the package: `network.build`, `benchmarks.suite`; or the package's."""
    return ".".join(parts_of(path.with_suffix(""))).removesuffix(".__init__")


def path_of(module: str) -> Path:
    """The file of a module."""
    names = module.split(".")
    inner = (ROOT if names[0] == BENCHMARKS.name else SOURCE).joinpath(*names)
    return inner / "__init__.py" if inner.is_dir() else inner.with_suffix(".py")


def package_of(path: Path) -> str:
    """The package that a file lies in: `operators.join`; a module of the top level stands for itself."""
    parts = parts_of(path)
    return ".".join(parts[:-1]) or parts[0].removesuffix(".py")


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imports_of(path: Path) -> tuple[str, ...]:
    """Every module that a file imports, inside functions too."""
    return tuple(_imports(path))


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}: a relative import"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                is_module = path_of(inner.removeprefix("seine.")).exists()
                yield inner if is_module else node.module or ""


@cache
def seine_imports(path: Path) -> tuple[str, ...]:
    """The packages of the product that a file imports from."""
    return tuple(_packages(path))


def _packages(path: Path) -> Iterator[str]:
    for name in imports_of(path):
        if name.startswith(("seine.", "benchmarks.")):
            target = path_of(name.removeprefix("seine."))
            assert target.exists(), f"{path.name} imports {name}, which is not there"
            yield package_of(target)
