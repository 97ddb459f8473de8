"""The forms of one class, by the constants that their blocks ask for.

Subscriptions differ in constants: `S//item[category = 'chess']` for one, `[category = 'go'][price < 10]` for
another. All have one class, so all are candidates whenever it holds; but of those that compare the value at a
path with a constant only the ones whose constant fits the document's values there need be evaluated. A form
with several comparisons is found by all of them, one after the other, equalities first:

    right //item/category =    'chess' -> form 1, form 7
                               'go'    -> right //item/price in    [-inf, 10) -> form 2
                                                                   [-inf, 30) -> form 9
    no comparison              form 3

Paths and kinds of comparison, and constants, are columns of the parameter table: forms are read only when
they are evaluated. What is common to very many forms is looked at once.

Law: `wanted` gives every form that has a binding in the pair; forms that it leaves out have none.

Cites: MMQJP R_T

Constants of one kind of comparison at one path: which of very many hold for the values of a document.

    [category = 'chess']              a dictionary by string
    [year = 2007]                     a dictionary by number
    [starts-with(@id, 'urn:')]        a dictionary, asked for the beginnings of a value
    [contains(., 'bishop')]           by three letters of each constant; those that a value has are tried
    [price > 10], [price[. > 1][. < 9]]   intervals by lower end, compared as arrays
    [lang != 'en']                    all, if there is a value at all

Law: `holding` gives what is kept with each constant for which the comparison holds for some value. It may
give more: whole patterns are evaluated behind it.

Cites: MMQJP R_T
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from seine.algebra.arrays import FloatArray
from seine.algebra.tree_pattern import TEXT_TESTS, PatternNode, TreePattern, ValueTest, paths_of
from seine.documents.match_pattern import xpath_number
from seine.operators.documents.document_form import DocumentForm, read_form

EQUAL, EQUAL_NUMBER, STARTS, CONTAINS, WITHIN, DIFFERS = (
    "=",
    "= number",
    "starts-with",
    "contains",
    "in",
    "!=",
)
_LONGEST_GRAM = 3  # letters of a constant by which it is looked up
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class ConstantIndex(Protocol[T_co]):
    """Constants with what is kept for each."""

    def holding(self, values: frozenset[str]) -> Iterator[T_co]:
        """What is kept with the constants that some value satisfies."""
        ...


class EqualStrings(Generic[T]):
    """A value is the constant."""

    def __init__(self, kept: Mapping[str, T]) -> None:
        self._kept = kept

    def holding(self, values: frozenset[str]) -> Iterator[T]:
        return (self._kept[value] for value in sorted(values & self._kept.keys()))


class EqualNumbers(Generic[T]):
    """A value, read as a number, is the constant."""

    def __init__(self, kept: Mapping[float, T]) -> None:
        self._kept = kept

    def holding(self, values: frozenset[str]) -> Iterator[T]:
        numbers = {xpath_number(value) for value in values}
        return (self._kept[number] for number in sorted(numbers & self._kept.keys()))


class Beginnings(Generic[T]):
    """A value begins with the constant."""

    def __init__(self, kept: Mapping[str, T]) -> None:
        self._kept = kept
        self._lengths = sorted({len(constant) for constant in kept})

    def holding(self, values: frozenset[str]) -> Iterator[T]:
        beginnings = {value[:length] for value in values for length in self._lengths}
        return (self._kept[one] for one in sorted(beginnings & self._kept.keys()))


class ContainedStrings(Generic[T]):
    """A value has the constant within it.

    A constant is found by three letters of it in a row, of all its triples the one that fewest others have:
    of the constants whose triple a value has, each is looked for in the value.

        "bishop" by "hop", "knight" by "kni"        value "a knight errant": "a k", " kn", "kni", ...
    """

    def __init__(self, kept: Mapping[str, T]) -> None:
        self._kept = kept
        self._by_gram: dict[str, list[str]] = {}
        for constant in kept:
            length = min(len(constant), _LONGEST_GRAM)
            grams = {constant[at : at + length] for at in range(len(constant) - length + 1)}
            gram = min(sorted(grams), key=lambda one: len(self._by_gram.get(one, ())))
            self._by_gram.setdefault(gram, []).append(constant)
        self._lengths = sorted({len(gram) for gram in self._by_gram})

    def holding(self, values: frozenset[str]) -> Iterator[T]:
        within: set[str] = set()
        for value in values:
            for gram in self._grams(value):
                within.update(one for one in self._by_gram[gram] if one in value)
        return (self._kept[one] for one in sorted(within))

    def _grams(self, value: str) -> set[str]:
        grams: set[str] = set()
        for length in self._lengths:
            grams.update(value[at : at + length] for at in range(len(value) - length + 1))
        return grams & self._by_gram.keys()


class Intervals(Generic[T]):
    """A value, read as a number, lies in the interval [low, high] that a constant is."""

    def __init__(self, kept: Mapping[tuple[float, float], T]) -> None:
        ordered = sorted((low, high) for low, high in kept if low <= high)
        self._kept = [kept[one] for one in ordered]
        self._low = np.array([low for low, _ in ordered], np.float64)
        self._high = np.array([high for _, high in ordered], np.float64)

    def holding(self, values: frozenset[str]) -> Iterator[T]:
        numbers = _numbers(values)
        if not len(numbers):
            return iter(())
        reached = int(np.searchsorted(self._low, numbers[-1], "right"))  # some value is not below these
        least = numbers[np.searchsorted(numbers, self._low[:reached])]  # the first value from each on
        return (self._kept[at] for at in np.flatnonzero(least <= self._high[:reached]).tolist())


class AnyValue(Generic[T]):
    """All constants, if there is a value."""

    def __init__(self, kept: Mapping[Any, T]) -> None:
        self._kept = kept

    def holding(self, values: frozenset[str]) -> Iterator[T]:
        return iter(self._kept.values() if values else ())


_INDEXES: dict[str, type[Any]] = {
    EQUAL: EqualStrings,
    EQUAL_NUMBER: EqualNumbers,
    STARTS: Beginnings,
    CONTAINS: ContainedStrings,
    WITHIN: Intervals,
    DIFFERS: AnyValue,
}


def constant_index(comparison: str, kept: Mapping[Any, T]) -> ConstantIndex[T]:
    """The index for a kind of comparison.

    >>> sorted(constant_index(CONTAINS, {"art": 1, "tar": 2, "star": 3}).holding(frozenset({"start"})))
    [1, 2, 3]
    """
    index: ConstantIndex[T] = _INDEXES[comparison](kept)
    return index


def interval(bounds: Iterable[tuple[str, float]]) -> tuple[float, float]:
    """The closed interval of the numbers that comparisons by order leave; an empty one has low > high.

    >>> interval([(">=", 1.0), ("<", 2.0)]) == (1.0, math.nextafter(2.0, 1.0)), interval([("<=", 3.0)])
    (True, (-inf, 3.0))
    """
    low, high = -math.inf, math.inf
    for operator, constant in bounds:
        if math.isnan(constant):
            return math.inf, -math.inf
        if operator in (">", ">="):
            low = max(low, constant if operator == ">=" else math.nextafter(constant, math.inf))
        else:
            high = min(high, constant if operator == "<=" else math.nextafter(constant, -math.inf))
    return low, high


def _numbers(values: frozenset[str]) -> FloatArray:
    numbers = np.array([xpath_number(value) for value in values], np.float64)
    return np.sort(numbers[~np.isnan(numbers)])


LEFT, RIGHT = 0, 1
MOST_COMPARISONS = 4  # of one form by which it is looked up
MOST_REMEMBERED = 1 << 16  # forms and documents of one compared path
Values = Callable[[int, TreePattern], frozenset[str] | None]  # of a side's document at a path; None: too many
_ORDERED = ("<", "<=", ">", ">=")


class FormRow(NamedTuple):
    """A form as text, the tag of its results, and the weakest bounds of time of its queries.

    `compared` and `constants` are its comparisons with constants: see `constants_of`.
    """

    text: str
    tag: int
    low: int
    high: int
    compared: str
    constants: str

    @property
    def form(self) -> DocumentForm:
        return read_form(self.text)


class ComparedPath(NamedTuple):
    """What is compared with constants: the values of a side's document at a path, in one way."""

    side: int
    path: TreePattern
    comparison: str


class _Compared:
    """Forms that compare a path in one way, by constant; remembers what held for the last documents."""

    def __init__(self, path: ComparedPath, forms: dict[Any, ClassForms]) -> None:
        self.path, self._forms = path, forms
        self._index = constant_index(path.comparison, forms)
        self._held: dict[frozenset[str], list[ClassForms]] = {}
        self._room = MOST_REMEMBERED

    def holding(self, values: frozenset[str] | None) -> Iterable[ClassForms]:
        """The forms whose constants hold for some value; all if the values are not known."""
        if values is None:
            return self._forms.values()
        held = self._held.get(values)
        if held is None:
            held = list(self._index.holding(values))
            self._room -= len(held) + 1
            if self._room < 0:
                self._held, self._room = {}, MOST_REMEMBERED
            self._held[values] = held
        return held


class _Level(NamedTuple):
    """Forms without a further comparison, and the others by their next one."""

    plain: list[FormRow]
    compared: list[_Compared]


class ClassForms:
    """The forms of one class, or those of them for which the first comparisons are known to hold."""

    def __init__(self, rows: Iterable[FormRow], depth: int = 0) -> None:
        """`depth` comparisons of each row are known to hold."""
        self._rows, self._depth = list(rows), depth

    def wanted(self, apart: int, values: Values) -> Iterator[FormRow]:
        """The forms that may have a binding in a pair of documents so far apart in time."""
        level = self._level
        for row in level.plain:
            if row.low <= apart <= row.high:
                yield row
        for compared in level.compared:
            side, path, _ = compared.path
            for forms in compared.holding(values(side, path)):
                yield from forms.wanted(apart, values)

    @cached_property
    def _level(self) -> _Level:
        alike: dict[str, list[FormRow]] = {}
        for row in self._rows:
            alike.setdefault(row.compared, []).append(row)
        plain: list[FormRow] = []
        by_constant: dict[ComparedPath, dict[Any, list[FormRow]]] = {}
        for text, rows in alike.items():
            compared = read_compared(text)
            if len(compared) == self._depth:
                plain += rows
            else:
                self._sort_out(rows, by_constant.setdefault(compared[self._depth], {}))
        return _Level(plain, [_Compared(path, self._below(rows)) for path, rows in by_constant.items()])

    def _sort_out(self, rows: list[FormRow], by_constant: dict[Any, list[FormRow]]) -> None:
        for row in rows:
            constant = json.loads(row.constants)[self._depth]
            key = tuple(constant) if isinstance(constant, list) else constant
            by_constant.setdefault(key, []).append(row)

    def _below(self, by_constant: dict[Any, list[FormRow]]) -> dict[Any, ClassForms]:
        return {constant: ClassForms(rows, self._depth + 1) for constant, rows in by_constant.items()}


class _Comparison(NamedTuple):
    rank: int  # comparisons that fewer values satisfy come first
    path: str
    kind: str
    constant: Any


def constants_of(form: DocumentForm) -> tuple[str, str]:
    """The comparisons of a form with constants, two texts: paths and kinds, then constants in that order."""
    comparisons = [
        comparison
        for side, block in ((LEFT, form.left), (RIGHT, form.right))
        if block is not None
        for path in paths_of(block.pattern.root)
        if path[-1].tests
        for comparison in _comparisons(_path_text(side, block.pattern.any_namespace, path), path[-1].tests)
    ]
    chosen = sorted(comparisons, key=lambda one: one[:3])[:MOST_COMPARISONS]
    return _written([[one.path, one.kind] for one in chosen]), _written([one.constant for one in chosen])


def _comparisons(path: str, tests: Iterable[ValueTest]) -> Iterator[_Comparison]:
    """The comparisons that tests of one node are; those by order are one interval together."""
    bounds: list[tuple[str, float]] = []
    for operator, constant in ((test.operator, test.constant) for test in tests):
        if operator in _ORDERED:
            bounds.append((operator, xpath_number(constant) if isinstance(constant, str) else constant))
        elif operator in TEXT_TESTS:
            yield _Comparison(3 if operator == "contains" else 2, path, operator, constant)
        elif operator == "=":
            is_text = isinstance(constant, str)
            yield _Comparison(0 if is_text else 1, path, EQUAL if is_text else EQUAL_NUMBER, constant)
        else:
            yield _Comparison(6, path, DIFFERS, constant)
    if bounds:
        low, high = interval(bounds)
        yield _Comparison(5 if math.inf in (-low, high) else 4, path, WITHIN, [low, high])


@lru_cache(maxsize=1 << 12)
def read_compared(text: str) -> tuple[ComparedPath, ...]:
    """The paths and kinds of comparison that were printed; a path is a pattern that binds its end."""
    return tuple(_read_compared(path, kind) for path, kind in json.loads(text))


@lru_cache(maxsize=1 << 12)
def _read_compared(path: str, kind: str) -> ComparedPath:
    side, any_namespace, steps = json.loads(path)
    return ComparedPath(side, TreePattern(_chain(steps), any_namespace), kind)


def _path_text(side: int, any_namespace: bool, path: tuple[PatternNode, ...]) -> str:
    return _written([side, any_namespace, [[node.axis, node.name, node.is_attribute] for node in path]])


def _written(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def _chain(steps: list[tuple[str, str, bool]]) -> PatternNode:
    (axis, name, is_attribute), *rest = steps
    if not rest:
        return PatternNode(axis, name, is_attribute, variable="0", selected=True)
    return PatternNode(axis, name, is_attribute, children=(_chain(rest),))
