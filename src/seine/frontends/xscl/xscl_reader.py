"""A scanner of XSCL text by regular expressions; its errors carry positions."""

from __future__ import annotations

import re

from seine.errors import ScriptError
from seine.frontends.text.lexer import ScriptText

_SPACE = re.compile(r"\s*")
WORD = re.compile(r"[^\W\d]\w*")
_NAME_PART = r"[^\W\d](?:[\w.]|-(?!>))*"
NAME = re.compile(rf"Q\{{[^{{}}]*\}}(?:{_NAME_PART}|\*)|{_NAME_PART}(?::(?:{_NAME_PART}|\*))?|\*")
VARIABLE = re.compile(r"[^\W\d]\w*'*")
WHOLE_NUMBER = re.compile(r"\d+(?![\w.])", re.ASCII)
NUMBER = re.compile(r"-?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?!\w)", re.ASCII)
STRING = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"")
QUOTED = re.compile(r'"(?:[^"]|"")+"|`(?:[^`]|``)+`')


class XsclReader:
    """Walks over the text of one query between two offsets, skipping white space."""

    def __init__(self, source: ScriptText, start: int, end: int) -> None:
        self.source = source
        self.at = start
        self.end = end
        self._skip_space()

    def _skip_space(self) -> None:
        match = _SPACE.match(self.source.text, self.at, self.end)
        assert match is not None
        self.at = match.end()

    def accept(self, pattern: re.Pattern[str]) -> str | None:
        """Consume a match of a pattern and return it; None if there is none here."""
        match = pattern.match(self.source.text, self.at, self.end)
        if match is None:
            return None
        self.at = match.end()
        self._skip_space()
        return match.group()

    def symbol(self, text: str) -> bool:
        """Consume a symbol if it comes next; whether it did."""
        if not self.comes(text):
            return False
        self.at += len(text)
        self._skip_space()
        return True

    def comes(self, text: str) -> bool:
        """Whether a symbol comes next."""
        return self.source.text.startswith(text, self.at, self.end)

    def comes_constant(self) -> bool:
        """Whether a string or a number comes next."""
        return any(one.match(self.source.text, self.at, self.end) for one in (STRING, NUMBER))

    def words(self, *words: str) -> bool:
        """Consume these keywords if all of them come next; whether they did."""
        start = self.at
        for word in words:
            if (self.accept(WORD) or "").upper() != word:
                self.at = start
                return False
        return True

    def function(self, *names: str) -> str | None:
        """Consume the name of a function and its opening parenthesis; None if no such call comes next."""
        for name in names:
            start = self.at
            if self.symbol(name) and self.symbol("("):
                return name
            self.at = start
        return None

    def expect(self, pattern: re.Pattern[str], what: str, hint: str | None = None) -> str:
        """Consume a match of a pattern, or raise."""
        text = self.accept(pattern)
        if text is None:
            raise self.error(f"expected {what}, found {self.rest()}", hint)
        return text

    def expect_symbol(self, text: str, hint: str | None = None) -> None:
        """Consume a symbol, or raise."""
        if not self.symbol(text):
            raise self.error(f"expected {text!r}, found {self.rest()}", hint)

    def expect_name(self, what: str) -> tuple[str, str]:
        """Consume an identifier, quoted or not: as written, and in the form that names are compared in."""
        quoted = self.accept(QUOTED)
        if quoted is not None:
            return quoted, quoted[1:-1].replace(quoted[0] * 2, quoted[0])
        word = self.expect(WORD, what)
        return word, word.lower()

    def at_end(self) -> bool:
        """Whether the query ends here."""
        return self.at >= self.end

    def rest(self) -> str:
        """The start of the remaining text, for an error."""
        text = self.source.text[self.at : min(self.end, self.at + 12)].split("\n")[0]
        return repr(text) if text.strip() else "the end of the query"

    def error(self, message: str, hint: str | None = None, at: int | None = None) -> ScriptError:
        """An error at an offset (by default the current one), to be raised."""
        return self.source.error(self.at if at is None else at, message, hint)
