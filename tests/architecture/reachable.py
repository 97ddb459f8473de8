"""Which definitions a command can come to: a graph of references from `seine.cli.main`, or `make bench`, on.

A definition is a function, class or constant of a module's top level, or a method of such a class, named
`optimizer.estimates:Estimates.rows`. It is reachable if something reachable refers to it:

- by its name, in its own module or where it was imported to; an import alone does not count, so that what a
  package only hands on is not thereby used;
- a method by its name alone, whatever the object; if its name is dunder or its class extends one from
  outside, with its class;
- a definition of a module that is handed about as a value, as methods are;
- what a module does when it is imported (decorators, calls, assignments to attributes) by any import, and so
  is a function that is decorated by a method of a constant.

That is generous (a method is used if anything of its name is), so what it calls unreachable is dead.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache

from tests.architecture.source_tree import FILES, module_of, tree_of

COMMAND = "cli.main:main"
BENCH = "benchmarks.__main__:main"  # make bench
_PACKAGES = ("seine", "benchmarks")
_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class _References:
    """What a piece of code refers to: definitions by name, methods by attribute, modules by import."""

    definitions: set[str] = field(default_factory=set)
    attributes: set[str] = field(default_factory=set)
    modules: set[str] = field(default_factory=set)
    values: set[str] = field(default_factory=set)  # modules that are handed about


@dataclass
class _Module:
    name: str
    tree: ast.Module
    names: dict[str, str] = field(default_factory=dict)  # what a name here is: `module:name`, or a module


@cache
def modules() -> dict[str, _Module]:
    known = {module_of(path): _Module(module_of(path), tree_of(path)) for path in FILES}
    for module in known.values():
        for statement in module.tree.body:
            for name in _bound_by(statement):
                module.names[name] = f"{module.name}:{name}"
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in _PACKAGES:
                origin = (node.module or "").removeprefix("seine").removeprefix(".") or "__init__"
                for alias in node.names:
                    inner = f"{origin}.{alias.name}" if origin != "__init__" else alias.name
                    module.names[alias.asname or alias.name] = (
                        inner if inner in known else f"{origin}:{alias.name}"
                    )
    return known


def _bound_by(statement: ast.stmt) -> list[str]:
    """The names that a statement of a module's top level defines."""
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.Assign(targets=targets):
            nodes = [node for target in targets for node in ast.walk(target)]
            return [node.id for node in nodes if isinstance(node, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
    return []


@cache
def definitions() -> dict[str, ast.stmt]:
    """Every definition, methods included."""
    collected: dict[str, ast.stmt] = {}
    for module in modules().values():
        for statement in module.tree.body:
            for name in _bound_by(statement):
                collected[f"{module.name}:{name}"] = statement
            if isinstance(statement, ast.ClassDef):
                for member in statement.body:
                    if isinstance(member, _Function):
                        collected[f"{module.name}:{statement.name}.{member.name}"] = member
    return collected


def _resolved(target: str) -> str:
    """Where something is defined: a package may hand on what another module has."""
    seen: set[str] = set()
    while target not in seen and ":" in target and target not in definitions():
        seen.add(target)
        module, _, name = target.partition(":")
        target = modules()[module].names.get(name, target) if module in modules() else target
    return target


def _references(module: _Module, nodes: Iterable[ast.AST]) -> _References:
    references = _References()
    nodes = list(nodes)
    owners = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
    for node in nodes:
        if isinstance(node, ast.Name) and node.id in module.names:
            target = _resolved(module.names[node.id])
            (references.definitions if ":" in target else references.modules).add(target)
            if ":" not in target and id(node) not in owners:
                references.values.add(target)
        elif isinstance(node, ast.Attribute):
            references.attributes.add(node.attr)
            origin = module.names.get(node.value.id) if isinstance(node.value, ast.Name) else None
            if origin is not None and ":" not in origin:
                references.definitions.add(_resolved(f"{origin}:{node.attr}"))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            _note_text(references, node.value)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in _PACKAGES:
            references.modules.add((node.module or "").removeprefix("seine."))
    return references


def _note_text(references: _References, text: str) -> None:
    """A module may be named by a string, for somebody else to import; so may a method, for `getattr`."""
    if text.startswith(("seine.", "benchmarks.")):
        references.modules.add(text.removeprefix("seine."))
    elif text.isidentifier():
        references.attributes.add(text)


def _code_of(name: str) -> Iterator[ast.AST]:
    """The nodes that run with a definition: of a class, all but the bodies of its methods."""
    statement = definitions()[name]
    if not isinstance(statement, ast.ClassDef):
        yield from _without_docstring(statement)
        return
    for part in [*statement.bases, *statement.decorator_list, *(k.value for k in statement.keywords)]:
        yield from ast.walk(part)
    for member in statement.body:
        if not isinstance(member, _Function):
            yield from ast.walk(member)


def _without_docstring(statement: ast.stmt) -> Iterator[ast.AST]:
    docstring = (
        statement.body[0] if isinstance(statement, _Function) and ast.get_docstring(statement) else None
    )
    skipped = {*ast.walk(docstring)} if docstring is not None else set()
    yield from (node for node in ast.walk(statement) if node not in skipped)


def _run_on_import(module: _Module) -> Iterator[ast.AST]:
    """What a module does when it is imported, its definitions and imports apart."""
    for number, statement in enumerate(module.tree.body):
        if number == 0 and ast.get_docstring(module.tree):
            continue
        if isinstance(statement, _Function | ast.ClassDef):
            for decorator in statement.decorator_list:
                yield from ast.walk(statement if _registers(decorator) else decorator)
        elif not _bound_by(statement) and not isinstance(statement, ast.Import | ast.ImportFrom):
            yield from ast.walk(statement)


def _registers(decorator: ast.expr) -> bool:
    """Whether a decorator hands a function to an object, as `@ROUTER.get("/")` does, which may call it."""
    called = decorator.func if isinstance(decorator, ast.Call) else None
    return (
        isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) and called.value.id.isupper()
    )


def _imports(module: _Module) -> set[str]:
    """The modules that a module imports at its top level, and the packages that they lie in."""
    direct = {
        target.partition(":")[0]
        for statement in module.tree.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
        if (target := module.names.get(alias.asname or alias.name, "")) and alias.name != "annotations"
    }
    return {".".join(name.split(".")[:end]) for name in direct for end in range(1, name.count(".") + 2)}


def _is_open(statement: ast.ClassDef, module: _Module) -> bool:
    """Does a class extend one from outside, which calls its methods by rules of its own?"""
    bases = [ast.unparse(base).partition("[")[0].partition(".")[0] for base in statement.bases]
    return any(
        base not in module.names and base not in ("Protocol", "Generic", "NamedTuple") for base in bases
    )


@cache
def reachable(*roots: str) -> frozenset[str]:
    """The definitions that can be come to from these."""
    search = _Search()
    for root in roots:
        assert root in definitions(), root
        search.reach(root)
    search.run()
    return frozenset(search.reached)


class _Search:
    """Follows references until nothing new comes."""

    def __init__(self) -> None:
        self.reached: set[str] = set()
        self._imported: set[str] = set()
        self._attributes: set[str] = set()
        self._waiting: list[str] = []
        self._methods: dict[str, list[str]] = {}  # by name, of classes and modules that are reached

    def reach(self, name: str) -> None:
        if name not in self.reached and name in definitions():
            self.reached.add(name)
            self._waiting.append(name)

    def run(self) -> None:
        while self._waiting:
            name = self._waiting.pop()
            module = modules()[name.partition(":")[0]]
            self._import(module.name)
            self._follow(_references(module, _code_of(name)))
            statement = definitions()[name]
            if isinstance(statement, ast.ClassDef):
                self._offer_methods(name, statement, module)

    def _offer_methods(self, name: str, statement: ast.ClassDef, module: _Module) -> None:
        outside = _is_open(statement, module)
        for member in statement.body:
            if not isinstance(member, _Function):
                continue
            method = f"{name}.{member.name}"
            if outside or member.name.startswith("__"):
                self.reach(method)
            else:
                self._offer(member.name, method)

    def _offer_module(self, module: str) -> None:
        for statement in modules()[module].tree.body:
            for name in _bound_by(statement):
                self._offer(name, f"{module}:{name}")

    def _offer(self, attribute: str, name: str) -> None:
        """Reach a definition as soon as an attribute of its name is asked for."""
        if attribute in self._attributes:
            self.reach(name)
        else:
            self._methods.setdefault(attribute, []).append(name)

    def _follow(self, references: _References) -> None:
        for name in references.definitions:
            self.reach(name)
        for module in references.modules:
            self._import(module)
        for module in references.values:
            self._offer_module(module)
        for attribute in references.attributes - self._attributes:
            self._attributes.add(attribute)
            for method in self._methods.pop(attribute, ()):
                self.reach(method)

    def _import(self, name: str) -> None:
        if name in self._imported or name not in modules():
            return
        self._imported.add(name)
        module = modules()[name]
        self._follow(_references(module, _run_on_import(module)))
        for other in _imports(module):
            self._import(other)
