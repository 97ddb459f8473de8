"""User-defined aggregate functions, registered by name.

They are algebraic: a fixed number of distributive parts (sums, counts, minima, maxima of functions
of the arguments) determines the result. The parts are kept for each group and are updated with
every tuple that is inserted or retracted; `finish` combines them when a result is due.

Cites: ARGUS 5.3 (algebraic aggregates)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from seine.algebra.arrays import AnyArray
from seine.algebra.types import DOUBLE, Type
from seine.errors import SeineError

PART_KINDS = ("sum", "count", "min", "max")
Part = tuple[str, Callable[..., AnyArray] | None]  # the kind, and what is folded (None: the first argument)


class UserAggregate:
    """Base class of user-defined aggregates: subclass it and `register` the subclass.

    `arguments` are the types that arguments are cast to. Each of `parts` is a kind (sum, count,
    min or max) and a vectorised function of the argument arrays, or None for the first argument
    itself. Rows with a NULL argument are left out. `finish` gets each part as an array with one
    value a group and returns the results, NaN meaning NULL.

    >>> import numpy as np
    >>> class GeometricMean(UserAggregate):
    ...     name = "geometric_mean"
    ...     arguments = (DOUBLE,)
    ...     parts = {"logs": ("sum", np.log), "n": ("count", None)}
    ...     result = DOUBLE
    ...
    ...     def finish(self, logs, n):
    ...         return np.exp(logs / n)
    >>> register(GeometricMean)
    >>> lookup("geometric_mean").finish(logs=np.log(np.array([8.0])), n=np.array([3])).round(9).tolist()
    [2.0]
    >>> unregister("geometric_mean")
    """

    name: ClassVar[str]
    parts: ClassVar[Mapping[str, Part]]
    arguments: ClassVar[tuple[Type, ...]] = (DOUBLE,)
    result: ClassVar[Type] = DOUBLE

    def finish(self, *state: Any, **parts: AnyArray) -> Any:
        """The result of every group from its parts, NaN meaning NULL."""
        raise NotImplementedError


class FoldedAggregate(UserAggregate):
    """A user-defined aggregate with a state of its own: `init`, `add`, `merge`, `finish`, a value at a time.

    A state is made of numbers, strings, booleans, None, lists and dictionaries by strings. `add` and `merge`
    return one; they may change what they are given. Law: `merge(add..(init(), xs), add..(init(), ys))` is
    `add..(init(), xs + ys)`, in whatever order; then results depend on which tuples are alive and on nothing
    else. So a sum of floats is better declared by `parts`, which are exact. `finish` gives the result, None
    for NULL. Over rows that never end one state a group is kept, which is `bounded` if the class says so;
    elsewhere the values are kept, and a change costs those of its group.

    >>> class Range(FoldedAggregate):
    ...     name = "range"
    ...     bounded = True
    ...
    ...     def init(self):
    ...         return []
    ...
    ...     def add(self, state, x):
    ...         return [min([*state[:1], x]), max([*state[1:], x])]
    ...
    ...     def merge(self, one, other):
    ...         return one and other and [min(one[0], other[0]), max(one[1], other[1])] or one or other
    ...
    ...     def finish(self, state):
    ...         return state[1] - state[0] if state else None
    >>> register(Range)
    >>> made = lookup("range")
    >>> made.finish(made.merge(made.add(made.init(), 4.0), made.add(made.init(), 1.5)))
    2.5
    >>> unregister("range")
    """

    parts: ClassVar[Mapping[str, Part]] = {}
    bounded: ClassVar[bool] = False  # whether a state never grows beyond some size

    def init(self) -> Any:
        """The state of no values."""
        raise NotImplementedError

    def add(self, state: Any, *values: Any) -> Any:
        """The state with one more value, or one more combination of arguments."""
        raise NotImplementedError

    def merge(self, one: Any, other: Any) -> Any:
        """The state of the values of both."""
        raise NotImplementedError


_REGISTERED: dict[str, UserAggregate] = {}


def register(aggregate: type[UserAggregate]) -> None:
    """Add a user-defined aggregate to the registry; refuses one that is not well formed.

    The class must be importable where queries run. A later class of the same name replaces an earlier one.
    """
    _check(aggregate)
    _REGISTERED[aggregate.name.lower()] = aggregate()


def unregister(name: str) -> None:
    """Remove a user-defined aggregate from the registry; an unknown name is ignored."""
    _REGISTERED.pop(name.lower(), None)


def lookup(name: str) -> UserAggregate | None:
    """The user-defined aggregate of this name, compared without case, or None."""
    return _REGISTERED.get(name.lower())


def registered_names() -> list[str]:
    """The names of all user-defined aggregates, sorted."""
    return sorted(_REGISTERED)


def _check(aggregate: type[UserAggregate]) -> None:
    if not (isinstance(aggregate, type) and issubclass(aggregate, UserAggregate)):
        raise SeineError(f"{aggregate!r} is not a subclass of Aggregate", hint="class MyMean(Aggregate): ...")
    label = aggregate.__name__
    name = getattr(aggregate, "name", None)
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise SeineError(f"aggregate {label} needs a name that is an SQL identifier", hint="name = 'my_mean'")
    if not isinstance(aggregate.result, Type) or not all(isinstance(t, Type) for t in aggregate.arguments):
        raise SeineError(f"aggregate {label}: result and arguments must be types", hint="result = DOUBLE")
    if not aggregate.arguments:
        raise SeineError(f"aggregate {label} needs at least one argument", hint="arguments = (DOUBLE,)")
    if aggregate.finish is UserAggregate.finish:
        raise SeineError(
            f"aggregate {label} does not say how its parts finish", hint="def finish(self, total, n): ..."
        )
    if issubclass(aggregate, FoldedAggregate):
        _check_steps(label, aggregate)
    else:
        _check_parts(label, getattr(aggregate, "parts", None))


def _check_steps(label: str, aggregate: type[FoldedAggregate]) -> None:
    for step in ("init", "add", "merge"):
        if getattr(aggregate, step) is getattr(FoldedAggregate, step):
            raise SeineError(
                f"aggregate {label} does not say how to {step}",
                hint="def init(self), add(self, state, value), merge(self, one, other), finish(self, state)",
            )


def _check_parts(label: str, parts: object) -> None:
    hint = "parts = {'total': ('sum', None), 'n': ('count', None)}"
    if not isinstance(parts, Mapping) or not parts:
        raise SeineError(f"aggregate {label} declares no parts", hint=hint)
    for name, part in parts.items():
        if not isinstance(name, str) or not isinstance(part, tuple) or len(part) != 2:
            raise SeineError(f"aggregate {label}: part {name!r} must be (kind, function or None)", hint=hint)
        if part[0] not in PART_KINDS:
            raise SeineError(
                f"aggregate {label}: part {name!r} is none of {', '.join(PART_KINDS)}", hint=hint
            )
        if part[1] is not None and not callable(part[1]):
            raise SeineError(f"aggregate {label}: the function of part {name!r} is not callable", hint=hint)
