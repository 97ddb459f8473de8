"""Finds the Java that Spark runs on, so that nobody has to set JAVA_HOME by hand."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from glob import glob
from pathlib import Path

from seine.errors import SeineError

OLDEST = 17
_FOLDERS = (
    "/usr/lib/jvm/*-17*",
    "/usr/lib/jvm/*",
    "/opt/java/*",
    "/opt/jdk*",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home",
    "/opt/homebrew/opt/openjdk*",
    "/usr/local/opt/openjdk*",
)


def find_java() -> str | None:
    """The home of a Java 17 or newer: JAVA_HOME first, then PATH, then the usual folders."""
    return next((home for home in _candidates() if (java_version(home) or 0) >= OLDEST), None)


def require_java() -> str:
    """Set JAVA_HOME for this process to a Java that suits, or refuse with what to install."""
    home = find_java()
    if home is None:
        raise SeineError(
            f"Spark needs Java {OLDEST} or newer and none was found",
            hint="install one (e.g. apt-get install openjdk-17-jre-headless) or set JAVA_HOME to its folder",
        )
    os.environ["JAVA_HOME"] = home
    return home


def java_version(home: str) -> int | None:
    """The major version of the Java in a folder, None if there is none that runs."""
    program = Path(home, "bin", "java")
    if not program.is_file():
        return None
    try:
        command = [str(program), "-version"]
        printed = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return parse_version(printed.stderr + printed.stdout)


def parse_version(text: str) -> int | None:
    """Read the major version out of what `java -version` prints.

    >>> parse_version('openjdk version "17.0.9" 2023-10-17'), parse_version('java version "1.8.0_392"')
    (17, 8)
    """
    match = re.search(r'version "(?:1\.)?(\d+)', text)
    return int(match.group(1)) if match else None


def _candidates() -> Iterator[str]:
    if home := os.environ.get("JAVA_HOME"):
        yield home
    if program := shutil.which("java"):
        yield str(Path(program).resolve().parent.parent)
    for pattern in _FOLDERS:
        yield from sorted(glob(pattern))
