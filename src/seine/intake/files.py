"""The files of a source: one path, the files of a folder, or those that match a glob; in name order."""

from __future__ import annotations

import glob
import os
from dataclasses import dataclass

from seine.errors import SeineError


@dataclass(frozen=True)
class Files:
    """The files behind a path; a folder's hidden files and those that start with `_` are not data."""

    path: str

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
        return sorted(path for path in paths if os.path.isfile(path))

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
