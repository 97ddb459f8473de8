"""The modules of the product as syntax trees, and what each of them imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.support.paths import ROOT

SOURCE = ROOT / "src" / "seine"
FILES = sorted(SOURCE.rglob("*.py"))


def module_of(path: Path) -> str:
    """The module's name below the package: `network.build`; of a package, the package's."""
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


def package_of(path: Path) -> str:
    """The package that a file lies in: `operators.join`; a module of the top level stands for itself."""
    parts = path.relative_to(SOURCE).parts
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
                inner = SOURCE.parent.joinpath(*(node.module or "").split("."), alias.name)
                is_module = inner.with_suffix(".py").exists() or (inner / "__init__.py").exists()
                yield f"{node.module}.{alias.name}" if is_module else node.module or ""


@cache
def seine_imports(path: Path) -> tuple[str, ...]:
    """The packages of the product that a file imports from."""
    return tuple(_packages(path))


def _packages(path: Path) -> Iterator[str]:
    for name in imports_of(path):
        if name.startswith("seine."):
            target = SOURCE.joinpath(*name.split(".")[1:])
            path_in_package = target / "__init__.py" if target.is_dir() else target.with_suffix(".py")
            assert path_in_package.exists(), f"{path.name} imports {name}, which is not there"
            yield package_of(path_in_package)
