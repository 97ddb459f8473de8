"""A registry of node kinds by name, which decodes a node of any kind from JSON.

Frozen dataclasses as JSON and back, by the types of their fields.

A class is compiled once: each field's annotation says how its values are written and read. Known are plain
values (int, float, str, bool), `X | None`, tuples of one type or of fixed types, SQL types, expressions, and
dataclasses of all these. An annotation that is none of them is refused when the class is compiled.

    class Port: node: int; key: tuple[Expression, ...]     {"node": 3, "key": [["col", "BIGINT", 0]]}
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

from seine.algebra.expressions import Expression, from_json, to_json
from seine.algebra.types import Type
from seine.graph.node import Node


class NodeKinds:
    """A registry of node classes. Every class is whole, and has a name of its own."""

    def __init__(self, *classes: type[Node]) -> None:
        self._classes: dict[str, type[Node]] = {}
        for cls in classes:
            if cls.__abstractmethods__:
                missing = ", ".join(sorted(cls.__abstractmethods__))
                raise TypeError(f"{cls.__name__} is not whole: it has no {missing}")
            if cls.kind in self._classes:
                raise TypeError(f"{cls.__name__}: there is another kind {cls.kind!r}")
            self._classes[cls.kind] = cls

    def __iter__(self) -> Iterator[type[Node]]:
        return iter(self._classes.values())

    def read(self, form: dict[str, Any]) -> Node:
        """The node that `node_to_json` wrote."""
        return dataclass_from_json(self._classes[form["kind"]], form)


def node_to_json(node: Node) -> dict[str, Any]:
    """A node as JSON values: its kind, and its fields by name."""
    return {"kind": node.kind, **dataclass_to_json(node)}


T = TypeVar("T")
Convert = Callable[[Any], Any]
_PLAIN = frozenset({int, float, str, bool})


class Codec(NamedTuple):
    """How values of one type are written as JSON values, and read; None where they are the same."""

    write: Convert | None
    read: Convert | None


def dataclass_to_json(value: Any) -> dict[str, Any]:
    """A dataclass as JSON values: its fields by name.

    >>> from seine.algebra.plan import AggregateCall
    >>> from seine.algebra.types import BIGINT
    >>> form = dataclass_to_json(AggregateCall("count_all", (), BIGINT))
    >>> form
    {'function': 'count_all', 'args': [], 'type': 'BIGINT', 'distinct': False, 'fraction': None}
    >>> dataclass_from_json(AggregateCall, form) == AggregateCall("count_all", (), BIGINT)
    True
    """
    write = codec_of(type(value)).write
    assert write is not None
    form: dict[str, Any] = write(value)
    return form


def dataclass_from_json(cls: type[T], form: dict[str, Any]) -> T:
    """The dataclass that was written; fields that are not there have their defaults, others are ignored."""
    read = codec_of(cls).read
    assert read is not None
    value: T = read(form)
    return value


_compiled: dict[Any, Codec] = {}


def codec_of(annotation: Any) -> Codec:
    """How values of an annotated type are written and read."""
    if annotation not in _compiled:
        _compiled[annotation] = _compile(annotation)
    return _compiled[annotation]


def _compile(annotation: Any) -> Codec:
    if annotation in _PLAIN:
        return Codec(None, None)
    if annotation is Type:
        return Codec(str, Type.parse)
    if isinstance(annotation, type) and issubclass(annotation, Expression):
        return Codec(to_json, from_json)
    if isinstance(annotation, type) and dataclasses.is_dataclass(annotation):
        return _dataclass(annotation)
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (types.UnionType, typing.Union) and len(args) == 2 and types.NoneType in args:
        return _optional(codec_of(args[0] if args[1] is types.NoneType else args[1]))
    if origin is tuple:
        return _many(codec_of(args[0])) if args[1:] == (...,) else _fixed([codec_of(one) for one in args])
    raise TypeError(f"no JSON for {annotation!r}")


def _dataclass(cls: type) -> Codec:
    hints = typing.get_type_hints(cls)
    codecs = {field.name: codec_of(hints[field.name]) for field in dataclasses.fields(cls)}
    writers = [(name, codec.write) for name, codec in codecs.items()]
    readers = [(name, codec.read) for name, codec in codecs.items()]

    def write(value: Any) -> dict[str, Any]:
        return {
            name: getattr(value, name) if convert is None else convert(getattr(value, name))
            for name, convert in writers
        }

    def read(form: dict[str, Any]) -> Any:
        return cls(
            **{
                name: form[name] if convert is None else convert(form[name])
                for name, convert in readers
                if name in form
            }
        )

    return Codec(write, read)


def _optional(inner: Codec) -> Codec:
    def lift(convert: Convert | None) -> Convert | None:
        return convert and (lambda value: None if value is None else convert(value))

    return Codec(lift(inner.write), lift(inner.read))


def _many(inner: Codec) -> Codec:
    write, read = inner
    return Codec(
        list if write is None else lambda values: [write(value) for value in values],
        tuple if read is None else lambda forms: tuple([read(form) for form in forms]),
    )


def _fixed(inners: list[Codec]) -> Codec:
    def each(converts: list[Convert | None], values: Any) -> list[Any]:
        pairs = zip(converts, values, strict=True)
        return [value if convert is None else convert(value) for convert, value in pairs]

    writers, readers = [inner.write for inner in inners], [inner.read for inner in inners]
    return Codec(lambda values: each(writers, values), lambda forms: tuple(each(readers, forms)))
