"""The files of the console's page, as they lie in the package, and the headers that they are sent with."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

_TYPES = {
    "index.html": "text/html; charset=utf-8",
    "console.js": "text/javascript; charset=utf-8",
    "console.css": "text/css; charset=utf-8",
    "icon.svg": "image/svg+xml",
    "third_party.txt": "text/plain; charset=utf-8",
}
CONSOLE_PATHS = {"/": "index.html", **{f"/console/{name}": name for name in _TYPES}}

# Nothing is fetched from elsewhere, no script or style stands in the page, and no other page frames it.
_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",  # the marks of the editor
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)


@dataclass(frozen=True)
class ConsoleFile:
    """A file of the page, with the headers that it is sent with."""

    content: bytes
    headers: dict[str, str]


@cache
def console_file(path: str) -> ConsoleFile:
    """The file that is answered at one of `CONSOLE_PATHS`."""
    name = CONSOLE_PATHS[path]
    content = files("seine.service.console").joinpath(name).read_bytes()
    headers = {
        "Content-Type": _TYPES[name],
        "Content-Security-Policy": _POLICY,
        "Referrer-Policy": "no-referrer",
        "Cache-Control": "no-cache",
        "ETag": f'"{hashlib.blake2b(content, digest_size=16).hexdigest()}"',
    }
    return ConsoleFile(content, headers)
