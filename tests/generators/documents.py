"""Random streams of XML documents with repeated and nested nodes, and random XSCL queries over them."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from pathlib import Path

from tests.reference.xscl_answers import Document

TAGS, LEAVES, VALUES = ("a", "b", "sec"), ("p", "q", "t"), ("x", "x", "y", "", " x", "7", "12")
COMPARISONS = (
    *(".//p = 'x'", ".//q = 'y'", ".//q != 'y'", ".//@id = 'x'", ".//p = 7", ".//@k != 12"),
    *(".//p > 1", ".//p > 8", ".//q >= 7", ".//t < 12", ".//p[. > 1][. < 9]", ".//@k <= 7"),
    *(
        "contains(., 'x')",
        "contains(., 'y')",
        "contains(., '1')",
        "contains(@id, 'x')",
        ".//p[contains(., '')]",
        "contains(.//q, 'x')",
        "starts-with(.//p/@id, 'x')",
    ),
    *("starts-with(., 'x')", "starts-with(., ' ')", ".//q[starts-with(., 'x')][contains(., 'x')]"),
)
MARKS = ("<!-- x -->", "<?p x?>", "<![CDATA[]]>", "<![CDATA[x]]>", "&#x20;")  # the last two are text
PATHS = ("", "/u", "//u", "/u", "//u", "/@*", "//@id", "//*/@k")  # of terms, below a variable
UNBOUND = "u"  # a leaf to which no block binds a variable, for paths in predicates and in SELECT


@dataclass(frozen=True)
class DocumentStream:
    """A stream of documents as it is declared, and its lines in the order of arrival."""

    name: str
    window: int | None
    lateness: int
    lines: tuple[tuple[int, str], ...]

    @property
    def declaration(self) -> str:
        window = "" if self.window is None else f" WINDOW {self.window}"
        return (
            f"CREATE STREAM {self.name} (doc XML, ts BIGINT) TIMESTAMP BY ts{window}"
            f" LATENESS {self.lateness} FROM '{self.name}.jsonl';"
        )

    def documents(self) -> list[Document]:
        """Those that are in time."""
        admitted, latest = [], None
        for ts, text in self.lines:
            if latest is None or ts >= latest - self.lateness:
                admitted.append(Document(ts, text, None if self.window is None else ts + self.window))
                latest = ts if latest is None else max(latest, ts)
        return admitted

    def write(self, folder: Path) -> None:
        lines = [json.dumps({"doc": text, "ts": ts}) + "\n" for ts, text in self.lines]
        (folder / f"{self.name}.jsonl").write_text("".join(lines), encoding="utf-8")


def random_stream(rng: random.Random, name: str, count: int) -> DocumentStream:
    """A stream whose documents are out of order, a few of them too late."""
    lateness, window = rng.choice((0, 2, 5)), rng.choice((None, None, None, 6, 12))
    lines, now = [], 0
    for _ in range(count):
        now += rng.choice((0, 1, 1, 2))
        lines.append((now - rng.randint(0, lateness + (rng.random() < 0.1)), random_document(rng)))
    return DocumentStream(name, window, lateness, tuple(lines))


def random_document(rng: random.Random) -> str:
    return _element(rng, rng.choice(("doc", "a", "sec")), 0)


def _element(rng: random.Random, tag: str, depth: int) -> str:
    attributes = "".join(f' {name}="{rng.choice(VALUES)}"' for name in ("id", "k") if rng.random() < 0.2)
    inner = rng.choice(("", "", " ", "x", *MARKS)) if rng.random() < 0.2 else ""
    for _ in range(rng.randint(1, 3 if depth < 2 else 2)):
        if depth < 3 and rng.random() < 0.55:
            inner += _element(rng, rng.choice(TAGS), depth + 1)
        else:
            leaf = rng.choice((*LEAVES, UNBOUND))
            value = rng.choice(VALUES)
            marked = rng.choice(MARKS) + value if rng.random() < 0.1 else value
            inner += f"<{leaf}>{marked}</{leaf}>"
    return f"<{tag}{attributes}>{inner}</{tag}>"


class QueryMaker:
    """Makes random queries over streams; most join leaves, so that most have answers."""

    def __init__(self, rng: random.Random, streams: list[str]) -> None:
        self.rng, self.streams = rng, streams
        self._names: list[str] = []  # all variables of a query
        self._leaves: list[str] = []  # those that are bound to leaves and attributes
        self._paths = False  # whether terms have paths: then no variable is an attribute

    def query(self, blocks: int | None = None) -> str:
        """A query of so many blocks, or of any number."""
        rng = self.rng
        self._names, self._leaves, self._paths = [], [], rng.random() < 0.2
        count = blocks or rng.choice((1, 2, 2, 2, 2, 3))
        text = self._block(must_bind=count > 1)
        for _ in range(count - 1):
            left, left_leaves = list(self._names), list(self._leaves)
            block = self._block(must_bind=True)
            right = self._names[len(left) :]
            leaves = [name for name in self._leaves if name in right]
            pairs = {
                f"{self._term(left, left_leaves)} = {self._term(right, leaves)}"
                for _ in range(rng.choice((1, 1, 1, 2)))
            }
            within = rng.choice(("0", "1", "4", "8", "INF", "INF"))
            word = "JOIN" if within == "0" else rng.choice(("JOIN", "FOLLOWED BY"))
            text += f" {word}{{{' AND '.join(sorted(pairs))}, {within}}} {block}"
        return self._select() + text

    def _select(self) -> str:
        if not self._names or self.rng.random() < 0.7:
            return self.rng.choice(("", "SELECT * FROM "))
        items = [self._term(self._names, self._leaves) for _ in range(self.rng.randint(1, 2))]
        return f"SELECT {', '.join(items)} FROM "

    def _term(self, names: list[str], leaves: list[str]) -> str:
        path = self.rng.choice(PATHS) if self._paths else ""
        others = [name for name in names if name not in leaves]
        if leaves and not (path and others) and self.rng.random() < 0.85:
            return self.rng.choice(leaves)
        return self.rng.choice(others or names) + path

    def _variable(self, leaf: bool) -> str:
        name = f"v{len(self._names)}"
        self._names.append(name)
        if leaf:
            self._leaves.append(name)
        return f"->{name}"

    def _block(self, *, must_bind: bool) -> str:
        rng, before = self.rng, len(self._names)
        text = rng.choice(self.streams)
        for _ in range(rng.choice((1, 1, 1, 1, 2))):
            text += rng.choice(("/", "//", "//", "//", "//")) + rng.choice((*TAGS, "*", "*", "*"))
            text += self._variable(False) if rng.random() < 0.4 else ""
            text += self._predicates(0)
        if rng.random() < 0.25:
            text += rng.choice(("/", "//")) + rng.choice(LEAVES)
            text += self._variable(True) if rng.random() < 0.7 else ""
        if len(self._names) == before and must_bind:
            text += f"[{self._leaf(True)}]"
        return text

    def _predicates(self, depth: int) -> str:
        return "".join(f"[{self._predicate(depth)}]" for _ in range(self.rng.choice((0, 0, 0, 1, 1, 2))))

    def _predicate(self, depth: int) -> str:
        rng = self.rng
        if rng.random() < 0.15:
            return rng.choice(COMPARISONS)
        if depth < 1 and rng.random() < 0.25:
            variable = self._variable(False) if rng.random() < 0.6 else ""
            return rng.choice(("./", ".//", "")) + rng.choice((*TAGS, "*")) + variable + self._predicates(1)
        return self._leaf(rng.random() < 0.75)

    def _leaf(self, bound: bool) -> str:
        rng = self.rng
        axis = rng.choice(("./", ".//", ".//", ".//", ""))
        name = f"@{rng.choice(('id', 'k', '*'))}" if not self._paths and rng.random() < 0.12 else ""
        return axis + (name or rng.choice((*LEAVES, "*"))) + (self._variable(True) if bound else "")
