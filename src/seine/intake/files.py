"""The files of a source: one path, the files of a folder, or those that match a glob; in name order."""

from __future__ import annotations

import glob
import logging
import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from seine.algebra.definitions import Source
from seine.errors import SeineError

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Files:
    """The files behind a path; a folder's hidden files and those that start with `_` are not data.

    With roots in `within`, nor are those that lie elsewhere: a link may have led there.
    """

    path: str
    within: tuple[str, ...] = ()

    @staticmethod
    def of(source: Source) -> Files:
        """The files of a source."""
        return Files(source.path, source.within)

    @property
    def is_glob(self) -> bool:
        """Whether the path is a pattern, and not the name of a file with such characters."""
        return not os.path.exists(self.path) and glob.has_magic(self.path)

    def listing(self) -> list[str]:
        """The files that exist now, in name order."""
        if os.path.isdir(self.path):
            names = [name for name in os.listdir(self.path) if not name.startswith((".", "_"))]
            paths = [os.path.join(self.path, name) for name in names]
        elif self.is_glob:
            paths = glob.glob(self.path, recursive=True)
        else:
            paths = [self.path]
        return self._let_in(sorted(path for path in paths if os.path.isfile(path)))

    def _let_in(self, paths: list[str]) -> list[str]:
        """Those that lie within the roots; folders are looked at once, and then only what is a link."""
        if not self.within:
            return paths
        folders = {folder: os.path.realpath(folder) for folder in {os.path.dirname(path) for path in paths}}
        inside = {folder: _is_below(real, self.within) for folder, real in folders.items()}
        let_in = [
            path
            for path in paths
            if (lies_within(path, self.within) if os.path.islink(path) else inside[os.path.dirname(path)])
        ]
        if len(let_in) < len(paths):
            for path in {*paths} - {*let_in}:
                _warn_left_out(path)
        return let_in

    @property
    def is_absent(self) -> bool:
        """Whether the file or folder is not there; a pattern never is absent."""
        return not os.path.exists(self.path) and not glob.has_magic(self.path)

    def check(self, what: str, *, follow: bool) -> None:
        """Raise an error if the source cannot be read; in follow mode, files may still appear later."""
        paths = self.listing()
        if not paths and not (follow and self._may_appear()):
            reason = "no file matches" if self.is_glob else "no such file"
            reason = "it is no plain file" if os.path.exists(self.path) else reason
            reason = "the folder has no files" if os.path.isdir(self.path) else reason
            raise SeineError(
                f"cannot read '{self.path}' of {what}: {reason}",
                hint="check the path in its FROM clause",
            )
        for path in paths:
            if not os.access(path, os.R_OK):
                raise SeineError(f"cannot read '{path}' of {what}: permission denied")

    def _may_appear(self) -> bool:
        if self.is_glob or os.path.isdir(self.path):
            return True
        return not os.path.exists(self.path) and os.path.isdir(os.path.dirname(self.path) or ".")


def lies_within(path: str, roots: Iterable[str]) -> bool:
    """Whether a path, links followed, is one of the roots or below one; roots are real paths.

    >>> lies_within("/data/../etc/passwd", ["/data"]), lies_within("/database", ["/data"])
    (False, False)
    """
    if "\0" in path:
        return False  # no file has such a name
    return _is_below(os.path.realpath(path), roots)


def _is_below(real: str, roots: Iterable[str]) -> bool:
    return any(os.path.commonpath([root, real]) == root for root in roots)


@lru_cache(maxsize=1000)
def _warn_left_out(path: str) -> None:
    """Said once of a file, which is looked at again and again."""
    _logger.warning("file outside the roots is left out", extra={"path": path})
