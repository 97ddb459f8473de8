"""Secrets of sources and sinks: an option is `${NAME}`, its value in an options file or the environment.

    script       OPTIONS (kafka.ssl.key.password '${KEY_PASSWORD}', ...)
    options file KEY_PASSWORD = correct horse
                 KEY < client.key             the text of that file, beside this one, without a last line end

Values are looked up in the driver when a source or a sink is opened. They are in no definition, catalog,
journal or log: `hide` takes them out of texts that others wrote, such as Spark's errors.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping

from seine.algebra.definitions import SparkReader, StreamDef
from seine.errors import SeineError

_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_LINE = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\s*(=|<)\s*(.*)")
_LEAST_HIDDEN = 4  # characters: a shorter value would stand in many texts by chance


def _text_of(path: str, what: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no UTF-8"
        raise SeineError(f"cannot read {what}: {reason}") from None


class OptionSecrets:
    """Named values; those of the file come before those of the environment, if that counts at all."""

    def __init__(self, named: Mapping[str, str] | None = None, *, environment: bool = True) -> None:
        self._named = {**(os.environ if environment else {}), **(named or {})}
        self._environment = environment
        self._used: dict[str, str] = {}  # by value

    @staticmethod
    def read(path: str | None, *, environment: bool = True) -> OptionSecrets:
        """Those of an options file: lines `NAME = value`, `NAME < file`, and such that begin with `#`."""
        if path is None:
            return OptionSecrets(environment=environment)
        named = {}
        for number, line in enumerate(_text_of(path, f"the options file '{path}'").splitlines(), 1):
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            match = _LINE.fullmatch(line.strip())
            if match is None:  # its text may be a secret
                raise SeineError(f"line {number} of the options file '{path}' is not NAME = value")
            value = match[3]
            if match[2] == "<":
                file = os.path.join(os.path.dirname(path), value)  # not told: it may be a secret
                value = _text_of(file, f"the file that line {number} of '{path}' names").rstrip("\r\n")
            named[match[1]] = value
        return OptionSecrets(named, environment=environment)

    def resolved(self, stream: str, reader: SparkReader) -> dict[str, str]:
        """The options of a reader with all values in place; never to be kept or printed."""
        return self.values(f"stream {stream}", reader.options)

    def values(self, owner: str, options: Iterable[tuple[str, str]]) -> dict[str, str]:
        """Options of whoever it is with all values in place; never to be kept or printed."""
        return {key: self._resolve(owner, key, value) for key, value in options}

    def check(self, streams: Iterable[StreamDef]) -> None:
        """Refuse streams with an option whose value is nowhere."""
        for stream in streams:
            if stream.reader is not None:
                self.resolved(stream.name, stream.reader)

    def _resolve(self, owner: str, key: str, value: str) -> str:
        def look_up(match: re.Match[str]) -> str:
            name = match[1]
            secret = self._named.get(name)
            if secret is None:
                others = ", or in the environment" if self._environment else ""
                raise SeineError(
                    f"option {key} of {owner} needs ${{{name}}}",
                    hint=f"give {name} = ... in the file of --options-file{others}",
                )
            if len(secret) >= _LEAST_HIDDEN:
                self._used[secret] = match[0]
            return secret

        return _REFERENCE.sub(look_up, value)

    def hide(self, text: str) -> str:
        """A text with the names of secrets in place of their values.

        >>> secrets = OptionSecrets({"WORD": "correct horse"})
        >>> options = secrets.resolved("s", SparkReader("kafka", (("kafka.sasl.password", "${WORD}"),)))
        >>> secrets.hide("login failed: correct horse")
        'login failed: ${WORD}'
        """
        for secret in sorted(self._used, key=len, reverse=True):
            text = text.replace(secret, self._used[secret])
        return text
