"""Exact bindings of whole blocks in pairs of documents, and their output documents.

    S//book->b[.//author->x][price > 10] FOLLOWED BY{x = y, 100} S//blog->g[.//author->y]

    pair (d1, d2), class //book//author = //blog//author
      form  //book->0[.//author->1][./price[. > 10]],  //blog->0[.//author->1],  1 = 1,  names b, x, g, y
        -> {"b": 0, "x": 2, "g": 0, "y": 1}, <result><book>..</book><blog>..</blog></result>

Law: for each pair and each form of its classes, one row for each distinct binding of the form's variables
over all embeddings of its blocks whose joined variables have equal strings. Queries that differ in T, in
birth or in name share a form; those that differ in names of variables share its evaluation. Without state.

Cites: MMQJP 2 (default output), 4.4 (R_outT)
Differs: whole blocks are evaluated on the documents, so no variable that a graph minor removes is lost.

The step of a complete node: each pair of documents becomes the results of the forms that want it.

What one batch of pairs knows of its documents: trees, bindings of blocks, values at paths.

    pairs (d1, d7) (d1, d9) (d2, d7)      d1 is parsed once, and each distinct block is evaluated on it once

Blocks are known by the identity of their pattern, and what is known of one is kept with it: a pattern that
the memo of forms has dropped, and another one in its place in memory, must not be taken for one another.

Law: what is known follows from texts and patterns alone; what is kept is bounded and changes no answer.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa

from seine.algebra.tree_pattern import TreePattern
from seine.documents.document import Document
from seine.documents.match_pattern import PatternMatch, TooManyBindings, match_pattern
from seine.graph.node import NodesView, Signature
from seine.graph.parameter_table import ParameterTable
from seine.operators.documents.class_forms import ClassForms, FormRow
from seine.operators.documents.document_form import DocumentForm, FormBlock
from seine.operators.documents.operand_bindings import (
    MOST_BINDINGS,
    NO_BINDING,
    Binding,
    NodeBinding,
    PartialBinding,
    PartialCombination,
    carried_binding,
)
from seine.operators.documents.operand_rows import (
    ARRIVAL,
    CONTENT,
    IDENTITY,
    PAIR,
    PATTERNS,
    TagBytes,
    column,
    owners_of,
)
from seine.operators.state.work_budget import NodeFault, byte_account
from seine.operators.state.working_nodes import AnyOutput, ArrivedDelta, HostFlow, Pushing, StatelessNode
from seine.rows.delta import ARRIVAL_NUMBER, MIN_ROWS_OF_PIECE, Delta, data_names
from seine.typed_json import json_decoder


@dataclass(frozen=True)
class CompleteNode(StatelessNode):
    """Bindings and output documents of forms; a row of `forms` is (class, form, tag, low, high, compared,
    constants): see `class_forms.py`.

    Its input gives pairs of documents or, for queries of one block, single documents.
    """

    kind = "complete"
    forms: int
    single: bool

    def make_step(self, port: int, flow: HostFlow) -> CompleteStep:
        return CompleteStep(self, flow.tables[self.forms])

    @property
    def tables(self) -> tuple[int, ...]:
        return (self.forms,)

    def signature(self, standing: NodesView) -> Signature:
        return complete_signature(self.inputs[0], self.owner)


def complete_signature(pairs: int, owner: str) -> Signature:
    return ("complete", pairs, owner)


class _Pair(NamedTuple):
    """A pair of operands as it arrives; of a query of one block, the left is empty."""

    start: int
    end: int
    apart: int
    arrival: int
    latest: int
    left_time: int | None
    right_time: int
    classes: list[int]
    left: str | None
    right: str
    left_identity: int | None
    right_identity: int


MOST_RESULT_CHARACTERS = 64_000_000  # of the output documents of one form in one pair
_TAG_OF_FORM = 2  # a column of the table of forms
_MOST_CHARACTERS_HELD = 16_000_000  # of output documents before they are passed on


class _Result(NamedTuple):
    """A row of the output."""

    start: int
    end: int
    identity: int
    tag: int
    apart: int
    arrival: int
    latest: int
    left_time: int | None
    right_time: int
    bindings: str
    document: str


_Alike = list[tuple[Binding, Binding]]  # bindings that are reported as one


class CompleteStep:
    """Evaluates the forms of each pair's classes, each distinct block once for a document."""

    def __init__(self, node: CompleteNode, table: ParameterTable) -> None:
        self._node = node
        self._forms = _forms_by_class(table)
        self._table = table
        self._account = partial(TagBytes, table, _TAG_OF_FORM)
        self._types = [type_.arrow() for type_ in node.types]

    def __call__(self, flow: Pushing[AnyOutput], arrived: ArrivedDelta, emission: AnyOutput) -> None:
        rows = _single(arrived.delta.plus) if self._node.single else _paired(arrived.delta.plus)
        known = KnownBindings()
        account = byte_account(self._node.id, self._account)
        results: list[_Result] = []
        sizes: Counter[int] = Counter()
        held = 0
        for result in chain.from_iterable(self._results(pair, known) for pair in rows):
            results.append(result)
            held += len(result.document)
            sizes[result.tag] += len(result.document)
            if held > _MOST_CHARACTERS_HELD or len(results) >= MIN_ROWS_OF_PIECE:
                account.add(sizes)
                flow.push(self._node.id, Delta(self._batch(results)), emission)
                results, held = [], 0
                sizes.clear()
        if results:
            account.add(sizes)
            flow.push(self._node.id, Delta(self._batch(results)), emission)

    def _results(self, pair: _Pair, known: KnownBindings) -> Iterator[_Result]:
        texts = (pair.left, pair.right)
        for number in pair.classes:
            forms = self._forms.get(number)
            if forms is not None:
                for row in forms.wanted(pair.apart, lambda side, path: known.values(path, texts[side])):
                    yield from self._bounded(pair, row, known)

    def _bounded(self, pair: _Pair, row: FormRow, known: KnownBindings) -> list[_Result]:
        """The results of one form in one pair; if they are too many, its queries alone are at fault."""
        results, room = [], MOST_RESULT_CHARACTERS
        try:
            for result in self._complete(pair, row.form, row.tag, known):
                results.append(result)
                room -= len(result.document)
                if room < 0:
                    raise TooManyBindings
        except TooManyBindings:
            reason = (
                f"has more than {MOST_BINDINGS:,} bindings, or {MOST_RESULT_CHARACTERS:,} characters of "
                "values or output, in one document or pair of documents, or far more nodes to try for them"
            )
            owners = owners_of(self._table, _TAG_OF_FORM, {row.tag})
            raise NodeFault("budget", reason, queries=owners) from None
        return results

    def _complete(self, pair: _Pair, form: DocumentForm, tag: int, known: KnownBindings) -> Iterator[_Result]:
        """The results of one form in one pair."""
        documents = [pair.right_identity]
        lefts: list[Binding] = [NO_BINDING]
        if form.left is not None and pair.left is not None:
            documents.insert(0, pair.left_identity or 0)
            lefts = [*known.of(form.left, pair.left)]
        elif pair.left is not None:
            partial = known.partial(pair.left)
            if pair.right_identity in partial.documents:
                return
            documents = [*partial.documents, pair.right_identity]
            lefts = [PartialBinding(partial, option) for option in partial.options]
        for alike in _joined(form, lefts, known.of(form.right, pair.right)):
            yield self._result(pair, form, tag, alike, documents)

    def _result(
        self, pair: _Pair, form: DocumentForm, tag: int, alike: _Alike, documents: list[int]
    ) -> _Result:
        left, right = alike[0]
        numbers = f"{{{','.join(left.printed_numbers() + right.printed_numbers())}}}"
        if form.carried is None:
            text = _output_document(form, left, right)
        else:
            text = msgspec.json.encode(carried_binding(form, alike, documents)).decode()
        identity = _identity(tag, (pair.left_identity, pair.right_identity), (left.key, right.key))
        return _Result(
            pair.start,
            pair.end,
            identity,
            tag,
            pair.apart,
            pair.arrival,
            pair.latest,
            pair.left_time,
            pair.right_time,
            numbers,
            text,
        )

    def _batch(self, results: list[_Result]) -> pa.RecordBatch:
        start, end, identity, *columns = zip(*results, strict=True)
        arrays = [pa.array(one, pa.int64()) for one in (start, end, identity)]
        for values, type_ in zip(columns, self._types, strict=True):
            times = type_ in (pa.timestamp("us"), pa.timestamp("us", tz="UTC"))
            plain = pa.array(values, pa.int64() if times else type_)
            arrays.append(plain.view(type_) if times else plain)
        return pa.RecordBatch.from_arrays(arrays, ["_s", "_e", ARRIVAL_NUMBER, *data_names(len(self._types))])


def _joined(form: DocumentForm, lefts: list[Binding], rights: list[NodeBinding]) -> Iterable[_Alike]:
    """Pairs of bindings with equal strings of joined variables, those together that are reported as one."""
    by_strings: dict[tuple[str, ...], list[NodeBinding]] = {}
    room = MOST_COMPARED_CHARACTERS
    for right in rights:
        strings = right.strings(form.right_joined)
        if strings not in by_strings:
            room -= sum(map(len, strings))
            if room < 0:
                raise TooManyBindings
        by_strings.setdefault(strings, []).append(right)
    distinct: dict[tuple[Any, Any], _Alike] = {}
    count = 0
    for left in lefts:
        for right in by_strings.get(left.strings(form.left_joined), ()):
            distinct.setdefault((left.key, right.key), []).append((left, right))
            if form.most is not None and len(distinct) > form.most:
                return distinct.values()  # one more than its queries deliver, so that they are told
            count += 1
            if count > MOST_BINDINGS:
                raise TooManyBindings
    return distinct.values()


def _output_document(form: DocumentForm, left: Binding, right: Binding) -> str:
    """The output document: a new root over the items of SELECT, or over the nodes that the blocks select.

    Of a query of one block without SELECT it is the selected node itself.
    """
    if form.select is None:
        texts = [*left.selected, *right.selected]
        return texts[0] if len(texts) == 1 else f"<result>{''.join(texts)}</result>"
    items = []
    for number, item in enumerate(form.select):
        side = right if item.variable in form.right.names else left
        items.append(side.item(number, item) or "")
    return f"<result>{''.join(items)}</result>"


def _identity(tag: int, operands: tuple[int | None, int], keys: tuple[Any, Any]) -> int:
    """A number for a result that is published or joined further, the same at every replay.

    Results of one form are told apart by their operands and by the nodes that tell bindings apart: two
    attributes of an element may be written alike, `3/@id`, and yet be in different namespaces.
    """
    text = f"{tag} {operands} {keys}".encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little", signed=True)


def _forms_by_class(table: ParameterTable) -> dict[int, ClassForms]:
    """The forms of each class; rows of one form that differ in bounds are one."""
    weakest: dict[tuple[int, int], FormRow] = {}
    for number, text, tag, low, high, compared, constants in table.rows.values():
        known = weakest.get((number, tag))
        if known is not None:
            low, high = min(low, known.low), max(high, known.high)
        weakest[number, tag] = FormRow(text, tag, low, high, compared, constants)
    forms: dict[int, list[FormRow]] = {}
    for (number, _), row in weakest.items():
        forms.setdefault(number, []).append(row)
    return {number: ClassForms(rows) for number, rows in forms.items()}


def _paired(batch: pa.RecordBatch) -> Iterable[_Pair]:
    columns = [batch[name].to_pylist() for name in ("_s", "_e", *data_names(len(PAIR)))]
    return map(_Pair._make, zip(*columns, strict=True))


def _single(batch: pa.RecordBatch) -> Iterable[_Pair]:
    names = ("_s", "_e", *map(column, (ARRIVAL, PATTERNS, CONTENT, IDENTITY)))
    for start, end, arrival, patterns, text, identity in zip(
        *(batch[name].to_pylist() for name in names), strict=True
    ):
        yield _Pair(
            start, end, 0, arrival, arrival, None, start, sorted({*patterns}), None, text, None, identity
        )


MOST_COMPARED_CHARACTERS = 64_000_000  # of the distinct string values that one form compares in one document
_MOST_KEPT = 100_000_000  # weight of documents that are kept parsed: characters, and more for each tag
_WEIGHT_OF_TAG = 40


class KnownBindings:
    """Documents that were parsed, and what was evaluated on them; forgotten when they are too large."""

    def __init__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        self._documents: dict[str, Document] = {}
        self._matches: dict[tuple[int, str], tuple[TreePattern, list[PatternMatch]]] = {}
        self._partials: dict[str, PartialCombination] = {}
        self._values: dict[tuple[int, str], tuple[TreePattern, frozenset[str] | None]] = {}
        self._weight = 0

    def of(self, block: FormBlock, text: str) -> list[NodeBinding]:
        """The bindings of a block in a document; blocks that differ in names have one pattern."""
        document = self._document(text)
        key = (id(block.pattern), text)
        known = self._matches.get(key)
        if known is None:  # kept with its pattern, so no other pattern is taken for it
            matches = match_pattern(block.pattern, document, MOST_BINDINGS)
            known = self._matches[key] = block.pattern, matches
        return [NodeBinding(document, block, *match) for match in known[1]]

    def values(self, path: TreePattern, text: str | None) -> frozenset[str] | None:
        """The string values at a path of a document; None if they are too many."""
        assert text is not None  # a form with a left block has a left document
        document = self._document(text)
        key = (id(path), text)
        if key not in self._values:
            self._values[key] = path, _values_at(path, document)
        return self._values[key][1]

    def _document(self, text: str) -> Document:
        document = self._documents.get(text)
        if document is None:
            weight = len(text) + _WEIGHT_OF_TAG * text.count("<")
            if self._weight + weight > _MOST_KEPT:
                self._forget()
            self._weight += weight
            document = self._documents[text] = Document(text)
        return document

    def partial(self, text: str) -> PartialCombination:
        if text not in self._partials:
            self._partials[text] = json_decoder(PartialCombination).decode(text)
        return self._partials[text]


def _values_at(path: TreePattern, document: Document) -> frozenset[str] | None:
    """The string values at a path; None if they are too many, or too long together."""
    values: set[str] = set()
    room = MOST_COMPARED_CHARACTERS
    try:
        for match in match_pattern(path, document, MOST_BINDINGS):
            value = document.string(match.selected)
            if value not in values:
                values.add(value)
                room -= len(value)
            if room < 0:
                return None
    except TooManyBindings:
        return None
    return frozenset(values)
