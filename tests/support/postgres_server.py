"""A private PostgreSQL for tests: SEINE_TEST_POSTGRES names one, or the installed binaries start one."""

from __future__ import annotations

import itertools
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from glob import glob
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url

_numbers = itertools.count(1)


@contextmanager
def postgres_server() -> Iterator[str]:
    """The URL of a server in which databases may be created; skips the test where there is none."""
    if url := os.environ.get("SEINE_TEST_POSTGRES"):
        yield url
        return
    programs = _programs()
    user = _unprivileged_user()
    if programs is None or user is None:
        pytest.skip("no PostgreSQL: install it or set SEINE_TEST_POSTGRES")
    folder = Path(tempfile.mkdtemp(prefix="seine-pg-"))
    try:
        with _running(programs, folder, user):
            yield f"postgresql://seine@/postgres?host={folder}"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def postgres_database(server: str) -> Iterator[str]:
    """The URL of a new database of a server, which is dropped in the end."""
    address = make_url(server).set(drivername="postgresql+psycopg")
    admin = create_engine(address, isolation_level="AUTOCOMMIT")
    name = f"seine_test_{next(_numbers)}"
    with admin.connect() as connection:
        connection.execute(text(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)"))
        connection.execute(text(f"CREATE DATABASE {name}"))
        try:
            yield address.set(drivername="postgresql", database=name).render_as_string(hide_password=False)
        finally:
            connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
    admin.dispose()


@contextmanager
def _running(programs: Path, folder: Path, user: str) -> Iterator[None]:
    shutil.chown(folder, user)
    data = folder / "data"
    _run(user, programs / "initdb", "-D", data, "-U", "seine", "-A", "trust", "-E", "UTF8", "--no-sync")
    options = f"-c listen_addresses= -c unix_socket_directories={folder} -c fsync=off -c max_connections=40"
    _run(user, programs / "pg_ctl", "-D", data, "-w", "-l", folder / "server.txt", "-o", options, "start")
    try:
        yield
    finally:
        _run(user, programs / "pg_ctl", "-D", data, "-w", "-m", "immediate", "stop")


def _run(user: str, *command: str | Path) -> None:
    other = user if os.geteuid() == 0 else None
    group = pwd.getpwnam(user).pw_gid if other else None
    # A server keeps its starter's output open for ever: a pipe would never end.
    with tempfile.TemporaryFile() as log:
        done = subprocess.run(
            command,
            stdout=log,
            stderr=log,
            user=other,
            group=group,
            extra_groups=[] if other else None,
            cwd="/",
        )
        log.seek(0)
        assert done.returncode == 0, log.read().decode()


def _programs() -> Path | None:
    """The folder of initdb and pg_ctl, the newest version first."""
    beside_psql = shutil.which("initdb")
    folders = sorted(glob("/usr/lib/postgresql/*/bin"), reverse=True)
    folders += [os.path.dirname(os.path.realpath(beside_psql))] if beside_psql else []
    return next((Path(f) for f in folders if Path(f, "initdb").exists() and Path(f, "pg_ctl").exists()), None)


def _unprivileged_user() -> str | None:
    """PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return pwd.getpwuid(os.geteuid()).pw_name
    names = {entry.pw_name for entry in pwd.getpwall()}
    return next((name for name in ("postgres", "nobody") if name in names), None)
