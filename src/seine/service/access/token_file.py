"""The tokens of a service, in a file: of each a name, a role and the SHA-256 of the token, never the token.

A token is 256 random bits, so nobody finds it by trying: a digest that is quick to compute is as good as a
slow one. The file is read again when it has changed, so a token counts, or counts no more, from the next
request on.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from msgspec import Struct

from seine.disk_sync import make_folder, write_whole
from seine.errors import SeineError
from seine.service.access.principal import RESERVED, ROLES, Principal, Role
from seine.typed_json import read_json, write_json

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}")
_OWNER_ALONE = 0o077


class KnownToken(Struct, frozen=True):
    """Whose token it is, what it may do, and how it is recognised."""

    name: str
    role: Role
    sha256: str
    added: str


class _TokenRecord(Struct, frozen=True):
    """The file."""

    tokens: tuple[KnownToken, ...] = ()


class TokenFile:
    """The tokens in a file, which need not be there: then there are none, and none is needed."""

    def __init__(self, path: str) -> None:
        self.path = os.path.abspath(path)
        self._seen: tuple[int, int, int] | None = None  # what the file was when it was last read
        self._by_digest: dict[str, Principal] = {}

    def exists(self) -> bool:
        """Whether tokens are needed."""
        return os.path.exists(self.path)

    def tokens(self) -> tuple[KnownToken, ...]:
        """All of them, in the order in which they were added; of a file that is not there, none."""
        try:
            with open(self.path, "rb") as file:
                return read_json(file.read(), _TokenRecord).tokens
        except FileNotFoundError:
            return ()
        except (OSError, ValueError):
            hint = "mend it, or remove it and add tokens anew by seine token add"
            raise SeineError(f"the tokens in '{self.path}' cannot be read", hint=hint) from None

    def principal(self, token: str) -> Principal | None:
        """Whose token it is; None if it is nobody's."""
        self._refresh()
        return self._by_digest.get(_digest(token))

    def _refresh(self) -> None:
        now = _look(self.path)
        if now != self._seen:
            self._by_digest = {one.sha256: Principal(one.name, one.role) for one in self.tokens()}
            self._seen = now

    def add(self, name: str, role: Role) -> str:
        """Make a token and note its digest; the token itself is told this once."""
        _refuse_name(name)
        with self._alone():
            tokens = self.tokens()
            if any(one.name.lower() == name.lower() for one in tokens):
                hint = f"seine token remove {name} first"
                raise SeineError(f"there is a token of {name} already", hint=hint)
            token = f"seine_{secrets.token_urlsafe(32)}"
            added = datetime.now(UTC).isoformat(timespec="seconds")
            self._write((*tokens, KnownToken(name, role, _digest(token), added)))
        return token

    def remove(self, name: str) -> Role:
        """Forget a token; the role that it had."""
        with self._alone():
            tokens = self.tokens()
            gone = next((one for one in tokens if one.name.lower() == name.lower()), None)
            if gone is None:
                raise SeineError(
                    f"there is no token of {name}", hint="seine token list shows those there are"
                )
            self._write(tuple(one for one in tokens if one is not gone))
        return gone.role

    def _write(self, tokens: tuple[KnownToken, ...]) -> None:
        umask = os.umask(_OWNER_ALONE)
        try:
            write_whole(self.path, write_json(_TokenRecord(tokens), indent=1))
        finally:
            os.umask(umask)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other processes from changing the file meanwhile."""
        folder = os.path.dirname(self.path)
        try:
            make_folder(folder)
            handle = os.open(folder, os.O_RDONLY)
        except OSError as error:
            raise SeineError(f"cannot keep tokens in '{folder}': {error.strerror}") from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)


def _refuse_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        hint = "up to 64 letters, digits and _ . @ -, a letter or digit first"
        raise SeineError("this is no name for a token", hint=hint)
    if name.lower() in RESERVED:
        raise SeineError(f"the name {name} is taken by the service itself", hint="choose another name")


def role_of(text: str) -> Role:
    """The role of a name; refused if there is none."""
    for role in ROLES:
        if role == text:
            return role
    raise SeineError(f"there is no role {text}", hint=f"one of {', '.join(ROLES)}")


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode(errors="surrogateescape")).hexdigest()


def _look(path: str) -> tuple[int, int, int] | None:
    """What a file is at the moment: another one, or one that was written to, looks otherwise."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns
