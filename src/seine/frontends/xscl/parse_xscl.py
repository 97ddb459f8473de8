"""The parser of XSCL, a join language of XML documents, to a DocumentQuery.

query    = [SELECT ("*" | item {"," item}) FROM] block {operator block} [PUBLISH name]
item     = variable {step}
operator = (FOLLOWED BY | JOIN) "{" equality {AND equality} "," (number | INTERVAL 'n' UNIT | INF) "}"
equality = term "=" term
term     = variable {"[" predicate "]"} {step}
block    = stream ["." column] {step}

Operators associate to the left. A stream alone stands for its whole documents.

Value-join normal form: a join predicate becomes equalities of variables, its paths part of the blocks.

before: S//book->b FOLLOWED BY{b//author = g//author, 5} S//blog->g
after:  S//book->b[.//author->u] FOLLOWED BY{u = v, 5} S//blog->g[.//author->v], u and v not reported

A path whose definition is that of a variable *is* that variable, so the same path written twice joins the
same node: `S//book->b[.//author->x]` with `b//author = y` says x = y.

A memo of blocks by their text: subscriptions by the thousand are put together from blocks that were read.

    S//book->b[.//author->x] FOLLOWED BY{x = y, 100} S//blog->g[.//author->y]
    ---------- left --------             - pairs - T  --------- right --------

Law: what is returned is what `parse_xscl` would return; None leaves the text to it, so that every refusal
and everything unusual (SELECT, PUBLISH, paths in conditions, intervals, several operators) is read there.

Cites: MMQJP 2 (value-join normal form)
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal

from seine.algebra.definitions import StreamDef
from seine.algebra.document_plan import (
    DocumentBlock,
    DocumentJoin,
    DocumentQuery,
    SelectedPath,
    namespaces_of,
)
from seine.algebra.plan import Scan
from seine.algebra.tree_pattern import CHILD, PatternNode, TreePattern, definition, print_term, read_prefixes
from seine.algebra.types import Kind
from seine.errors import ScriptError
from seine.frontends.text.cursor import MICROSECONDS
from seine.frontends.text.lexer import ScriptText, suggest
from seine.frontends.xscl.read_pattern import (
    NAME,
    STRING,
    VARIABLE,
    WHOLE_NUMBER,
    WORD,
    PatternParser,
    XsclReader,
    refuse_twice_bound,
)

MOST_BLOCKS = 8  # of one query; each operator is a stage of its own
LONGEST_TIME = 2**62  # exclusive, in units of event time
_AMOUNT = re.compile(r"'\s*(?:\d+(?:\.\d*)?|\.\d+)\s*'|\d+(?:\.\d*)?|\.\d+", re.ASCII)
_LEXEME = re.compile(rf"[/@]++(?:\s*(?:{NAME.pattern}))?|{VARIABLE.pattern}|{STRING.pattern}")
_CONSTANT_HINT = "a constant belongs to a block: S//price->p[. = '5']"
_CONDITION_HINT = "write {x = y AND ..., T}, T a length of time or INF"
MOST_BLOCKS_KNOWN = 1 << 16  # then all are forgotten
_PAIR = rf"({VARIABLE.pattern})\s*=\s*({VARIABLE.pattern})"
_UNUSUAL = -1  # as T: the parser decides
_EACH_PAIR = re.compile(_PAIR)
_PAIRS = re.compile(rf"\s*{_PAIR}(?:\s+AND\s+{_PAIR})*\s*", re.IGNORECASE)
_OPERATOR = re.compile(r"\b(FOLLOWED\s+BY|JOIN)\s*\{", re.IGNORECASE)


@dataclass
class _Block:
    """A block as it is read: its pattern grows when predicates name paths below its variables."""

    stream: StreamDef
    column: int
    pattern: TreePattern
    prefixes: Mapping[str, str] | None
    at: int

    def plan(self) -> DocumentBlock:
        return DocumentBlock(Scan(self.stream, self.stream.name), self.column, self.pattern)


@dataclass
class _Operator:
    """An operator as it is read: an equality has a term of the left side and one of the block after it."""

    ordered: bool
    pairs: list[tuple[JoinTerm, JoinTerm]]
    within: int | None


def parse_xscl(source: ScriptText, start: int, end: int, streams: Mapping[str, StreamDef]) -> DocumentQuery:
    """Parse the query between two offsets; `streams` are all that are declared or published, by name."""
    strange = source.text.find("\x00", start, end)
    if strange >= 0:
        raise source.error(strange, "U+0000 stands in no document", "leave it out")
    return _XsclParser(XsclReader(source, start, end), streams).query()


class _XsclParser:
    """Parses one query: all blocks first by structure, then the predicates between them."""

    def __init__(self, reader: XsclReader, streams: Mapping[str, StreamDef]) -> None:
        self.reader = reader
        self.streams = streams
        self.blocks: list[_Block] = []

    def query(self) -> DocumentQuery:
        """The whole query."""
        reader = self.reader
        items = self._skip_select() if reader.words("SELECT") else None
        self._block()
        operators: list[tuple[bool, int, int]] = []
        while (ordered := self._operator_word()) is not None:
            if len(self.blocks) == MOST_BLOCKS:
                raise reader.error(f"a query joins at most {MOST_BLOCKS} blocks", "publish a part of it")
            operators.append((ordered, reader.at, self._skip_condition()))
            self._block()
        publish = (
            reader.expect_name("the name of the stream to publish")[1] if reader.words("PUBLISH") else None
        )
        if not reader.at_end():
            raise reader.error(f"expected {_expected(operators)}, found {reader.rest()}")
        self._refuse_two_times()
        joins = [self._operator(number, *operator) for number, operator in enumerate(operators, 1)]
        equalities = self._value_joins(joins)
        select = None if items is None else self._select(items)
        plan: DocumentJoin | DocumentBlock = self.blocks[0].plan()
        for join, pairs, block in zip(joins, equalities, self.blocks[1:], strict=True):
            plan = DocumentJoin(plan, block.plan(), join.ordered, pairs, join.within)
        return DocumentQuery(plan, select, publish)

    def _value_joins(self, joins: list[_Operator]) -> list[tuple[tuple[str, str], ...]]:
        """The equalities of each join as variables; predicates come first: they are part of definitions."""
        for term in (term for join in joins for pair in join.pairs for term in pair):
            block = self.blocks[term.block]
            block.pattern = conditioned(block.pattern, term)
        pairs = [[(self._bound(left), self._bound(right)) for left, right in join.pairs] for join in joins]
        return [tuple(dict.fromkeys(one)) for one in pairs]

    def _bound(self, term: JoinTerm) -> str:
        block = self.blocks[term.block]
        block.pattern, name = bind_path(block.pattern, term)
        return name

    def _skip_select(self) -> int | None:
        """Go to FROM; the offset of the items, None for a star. They are read when blocks are known."""
        start, reader = self.reader.at, self.reader
        is_star = reader.symbol("*")
        while not reader.words("FROM"):
            if is_star or reader.at_end():
                raise reader.error(f"expected FROM, found {reader.rest()}", "SELECT * FROM S//a ...")
            _skip_one(reader)
        return None if is_star else start

    def _skip_condition(self) -> int:
        """Go behind the braces of an operator; the offset there."""
        reader = self.reader
        reader.expect_symbol("{", _CONDITION_HINT)
        while not reader.symbol("}"):
            if reader.at_end():
                raise reader.error("this { is never closed", _CONDITION_HINT)
            _skip_one(reader)
        return reader.at

    def _operator_word(self) -> bool | None:
        if self.reader.words("FOLLOWED", "BY"):
            return True
        return False if self.reader.words("JOIN") else None

    def _block(self) -> None:
        reader, start = self.reader, self.reader.at
        written, name = reader.expect_name("a stream")
        stream = self.streams.get(name)
        if stream is None:
            raise reader.error(f"no stream {written}", self._instead(written), at=start)
        if stream.retractable:
            message = f"stream {written} is RETRACTABLE: XSCL joins documents that nothing takes back"
            raise reader.error(message, "declare it without RETRACTABLE", at=start)
        column = self._column(stream, written, start)
        prefixes = read_prefixes(namespaces_of(stream))
        root = PatternParser(reader, prefixes).steps() or PatternNode(CHILD, "*", selected=True)
        bound = [node.variable for node in root.walk() if node.variable is not None]
        others = [name for block in self.blocks for name in block.pattern.variables]
        refuse_twice_bound(reader, [*others, *bound], start)
        self.blocks.append(_Block(stream, column, TreePattern(root, prefixes is None), prefixes, start))

    def _instead(self, written: str) -> str | None:
        """What to do about a stream that is not known."""
        publishing = re.compile(rf"\bPUBLISH\s+{re.escape(written)}(?!\w)", re.IGNORECASE)
        if publishing.search(self.reader.source.text):
            return "a query reads what queries before it publish: there are no cycles"
        known = [key for key, one in self.streams.items() if _document_columns(one)]
        return suggest(written, known, "streams of XML")

    def _column(self, stream: StreamDef, written: str, start: int) -> int:
        columns = _document_columns(stream)
        if not columns:
            hint = "XSCL reads documents: columns of type XML"
            raise self.reader.error(f"stream {written} has no XML column", hint, at=start)
        if not self.reader.symbol("."):
            if len(columns) > 1:
                names = ", ".join(f"{written}.{stream.fields[i].name}" for i in columns)
                raise self.reader.error(f"stream {written} has several XML columns", f"say {names}", at=start)
            return columns[0]
        name = self.reader.expect_name("a column")[1]
        named = [i for i in columns if stream.fields[i].name == name]
        if not named:
            known = suggest(name, [stream.fields[i].name for i in columns], "XML columns")
            raise self.reader.error(f"stream {written} has no XML column {name}", known, at=start)
        return named[0]

    def _refuse_two_times(self) -> None:
        first = self.blocks[0].stream
        for block in self.blocks:
            if block.stream.domain != first.domain:
                raise self.reader.error(
                    f"streams {first.name} and {block.stream.name} have different kinds of time",
                    "lives can be compared only within one kind of time",
                    at=block.at,
                )

    def _operator(self, number: int, ordered: bool, start: int, end: int) -> _Operator:
        """The operator before block `number`, whose braces are between two offsets."""
        reader = XsclReader(self.reader.source, start, end)
        reader.expect_symbol("{")
        pairs = [self._equality(reader, number)]
        while reader.words("AND"):
            pairs.append(self._equality(reader, number))
        if not reader.symbol(","):
            raise reader.error(f"expected AND or ',', found {reader.rest()}", _CONDITION_HINT)
        within = self._within(reader, self.blocks[number].stream)
        reader.expect_symbol("}")
        return _Operator(ordered, pairs, within)

    def _equality(self, reader: XsclReader, number: int) -> tuple[JoinTerm, JoinTerm]:
        start = reader.at
        left = self._term(reader, number)
        if not reader.symbol("="):
            hint = "a condition is a conjunction of equalities"
            raise reader.error(f"expected '=', found {reader.rest()}", hint)
        right = self._term(reader, number)
        if (left.block == number) == (right.block == number):
            message = f"{left.variable} = {right.variable} does not relate the two sides"
            raise reader.error(message, "a condition equates a variable of each side", at=start)
        return (left, right) if right.block == number else (right, left)

    def _term(self, reader: XsclReader, number: int) -> JoinTerm:
        """A variable of a block up to `number`, with predicates and a path."""
        start = reader.at
        variable = reader.expect(VARIABLE, "a variable", _CONSTANT_HINT if reader.comes_constant() else None)
        index = self._block_of(reader, variable, start, number)
        block = self.blocks[index]
        if block.pattern.node_of(variable).is_attribute and (reader.comes("/") or reader.comes("[")):
            raise reader.error(f"nothing lies below the attribute {variable}", at=start)
        parser = PatternParser(reader, block.prefixes)
        conditions, path = parser.conditions(), parser.steps()
        added = [*conditions.children, *([] if path is None else [path])]
        if any(node.variable is not None for one in added for node in one.walk()):
            raise reader.error("a condition binds no variable", "bind it in its block", at=start)
        predicates = None
        if conditions.tests or conditions.children:
            children = tuple(conditions.children)
            predicates = PatternNode(CHILD, "*", tests=tuple(conditions.tests), children=children)
        return JoinTerm(variable, index, start, predicates, path)

    def _block_of(self, reader: XsclReader, variable: str, start: int, number: int) -> int:
        """The block, up to `number`, that binds a variable."""
        blocks = self.blocks[: number + 1]
        for index, block in enumerate(blocks):
            if variable in block.pattern.reported:
                return index
        known = [name for block in blocks for name in block.pattern.reported]
        raise reader.error(f"no variable {variable}", suggest(variable, known, "variables"), at=start)

    def _within(self, reader: XsclReader, stream: StreamDef) -> int | None:
        start, plain = reader.at, stream.domain == "plain"
        if reader.words("INF"):
            return None
        if reader.words("INTERVAL"):
            if plain:
                raise reader.error(
                    "a BIGINT time is counted in plain units", "write a plain number", at=start
                )
            length = _interval(reader)
        else:
            length = int(reader.expect(WHOLE_NUMBER, "a length of time or INF", _CONDITION_HINT))
            if not plain:
                hint = "write INTERVAL '100' DAY"
                raise reader.error("a TIMESTAMP time needs an interval", hint, at=start)
        if length >= LONGEST_TIME:
            raise reader.error("this is too long a time", "write INF", at=start)
        return length

    def _select(self, start: int) -> tuple[SelectedPath, ...]:
        reader = XsclReader(self.reader.source, start, self.reader.end)
        items = [self._item(reader)]
        while reader.symbol(","):
            items.append(self._item(reader))
        if not reader.words("FROM"):
            raise reader.error(f"expected ',' or FROM, found {reader.rest()}")
        return tuple(items)

    def _item(self, reader: XsclReader) -> SelectedPath:
        term = self._term(reader, len(self.blocks) - 1)
        if term.conditions is not None:
            raise reader.error(
                "SELECT takes variables with steps", "put the predicate in its block", at=term.at
            )
        if term.path is None:
            return SelectedPath(term.variable)
        pattern = self.blocks[term.block].pattern
        known = variable_of(pattern, term.variable, term.path)
        is_bound = known is not None and known in pattern.reported
        return SelectedPath(known or "") if is_bound else SelectedPath(term.variable, term.path)


def _expected(operators: list[tuple[bool, int, int]]) -> str:
    return "FOLLOWED BY, JOIN, PUBLISH or the end of the query" if not operators else "the end of the query"


def _skip_one(reader: XsclReader) -> None:
    """Go behind the next step, variable, string or sign."""
    if reader.accept(_LEXEME) is None:
        reader.symbol(reader.source.text[reader.at])


def _interval(reader: XsclReader) -> int:
    amount, start = reader.expect(_AMOUNT, "a number", "write INTERVAL '20' MINUTE"), reader.at
    unit = reader.expect(WORD, "a unit of time").upper().removesuffix("S")
    if unit not in MICROSECONDS:
        raise reader.error(
            f"expected a unit of time, found {unit!r}", f"use {', '.join(MICROSECONDS)}", at=start
        )
    length = Decimal(amount.strip("' \t\n")) * MICROSECONDS[unit]
    if length != int(length):
        raise reader.error("an interval is a whole number of microseconds", at=start)
    return int(length)


def _document_columns(stream: StreamDef) -> list[int]:
    return [number for number, field in enumerate(stream.fields) if field.type.kind is Kind.XML]


@dataclass(frozen=True)
class JoinTerm:
    """A side of an equality: a variable, perhaps with predicates of its node and a path below it."""

    variable: str
    block: int  # that binds the variable, by number
    at: int  # its offset in the script
    conditions: PatternNode | None = None  # a node that only has the predicates
    path: PatternNode | None = None  # its end is selected


def conditioned(pattern: TreePattern, term: JoinTerm) -> TreePattern:
    """The pattern with the predicates of a term; `x[p] = y` says that x satisfies p."""
    if term.conditions is None:
        return pattern
    tests, children = term.conditions.tests, term.conditions.children

    def add(node: PatternNode) -> PatternNode:
        return replace(node, tests=tuple(dict.fromkeys((*node.tests, *tests)))).with_children(children)

    return pattern.changed(term.variable, add)


def bind_path(pattern: TreePattern, term: JoinTerm) -> tuple[TreePattern, str]:
    """The pattern in which the path of a term ends in a variable, and that variable."""
    if term.path is None:
        return pattern, term.variable
    known = variable_of(pattern, term.variable, term.path)
    if known is not None:
        return pattern, known
    name = print_term(term.variable, term.path)
    path = _hidden(term.path, name)
    return pattern.changed(term.variable, lambda node: node.with_children([path])), name


def variable_of(pattern: TreePattern, above: str, path: PatternNode) -> str | None:
    """The variable whose definition is a path below another variable, if there is one."""
    wanted = definition(_chain(path))
    start = pattern.node_of(above)
    for variable in pattern.variables:
        nodes = pattern.path_to(variable)
        if variable != above and any(node is start for node in nodes):
            below = nodes[next(i for i, node in enumerate(nodes) if node is start) + 1 :]
            if definition(below) == wanted:
                return variable
    return None


def _chain(path: PatternNode) -> tuple[PatternNode, ...]:
    nodes = [path]
    while not nodes[-1].selected:
        nodes.append(next(child for child in nodes[-1].children if child.leads_to_selected))
    return tuple(nodes)


def _hidden(node: PatternNode, name: str) -> PatternNode:
    """A path with a hidden variable at its end."""
    if node.selected:
        return replace(node, variable=name, hidden=True, selected=False)
    return replace(
        node,
        children=tuple(_hidden(one, name) if one.leads_to_selected else one for one in node.children),
    )


class KnownBlocks:
    """Blocks over some streams, declared and published, which do not change."""

    def __init__(self, streams: Mapping[str, StreamDef]) -> None:
        self._streams = streams
        self._blocks: dict[str, DocumentBlock | None] = {}

    def query(self, source: ScriptText, start: int, end: int) -> DocumentQuery:
        """Parse the query between two offsets."""
        query = self._put_together(source.text[start:end])
        return parse_xscl(source, start, end, self._streams) if query is None else query

    def _put_together(self, text: str) -> DocumentQuery | None:
        operator = _OPERATOR.search(text)
        if operator is None or text.count("{") > 1 or text.count("}") > 1:
            return None
        condition, _, after = text[operator.end() :].partition("}")
        pairs, _, time = condition.rpartition(",")
        if _PAIRS.fullmatch(pairs) is None:
            return None
        left, right = self._block(text[: operator.start()].strip()), self._block(after.strip())
        if left is None or right is None or left.input.stream.domain != right.input.stream.domain:
            return None
        equalities = _oriented(left, right, _EACH_PAIR.findall(pairs))
        within = _within(time.strip(), right)
        if equalities is None or within == _UNUSUAL:
            return None
        return DocumentQuery(DocumentJoin(left, right, operator[1][0] in "Ff", equalities, within))

    def _block(self, text: str) -> DocumentBlock | None:
        """The block that a text is by itself; None if it is anything else."""
        if text not in self._blocks:
            if len(self._blocks) >= MOST_BLOCKS_KNOWN:
                self._blocks.clear()
            self._blocks[text] = self._read(text)
        return self._blocks[text]

    def _read(self, text: str) -> DocumentBlock | None:
        try:
            query = parse_xscl(ScriptText(text, ""), 0, len(text), self._streams)
        except ScriptError:
            return None
        is_block = query.select is None and query.publish is None and isinstance(query.input, DocumentBlock)
        return query.blocks[0] if is_block else None


def _within(text: str, block: DocumentBlock) -> int | None:
    """T; None if it is infinite."""
    if text.upper() == "INF":
        return None
    is_plain = block.input.stream.domain == "plain" and text.isascii() and text.isdigit() and len(text) < 19
    return int(text) if is_plain and int(text) < LONGEST_TIME else _UNUSUAL


def _oriented(
    left: DocumentBlock, right: DocumentBlock, pairs: list[tuple[str, str]]
) -> tuple[tuple[str, str], ...] | None:
    """The pairs as (left variable, right variable); None if one relates anything else."""
    ours, theirs = left.pattern.reported, right.pattern.reported
    if any(name in theirs for name in ours):
        return None
    oriented: dict[tuple[str, str], None] = {}
    for one, other in pairs:
        if one in ours and other in theirs:
            oriented[one, other] = None
        elif other in ours and one in theirs:
            oriented[other, one] = None
        else:
            return None
    return tuple(oriented)
