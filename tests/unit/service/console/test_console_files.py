"""The page of the console: complete, as new as its sources, and sent with a strict policy."""

from __future__ import annotations

import hashlib
import re
import urllib.request
from pathlib import Path

from seine.service.console.console_files import CONSOLE_PATHS, console_file
from tests.support.http_rig import HttpRig
from tests.support.paths import ROOT

SOURCES = ROOT / "console"


def test_the_bundle_is_as_new_as_its_sources() -> None:
    """`make console` writes the fingerprint of the sources into the bundle."""
    paths = [path.relative_to(SOURCES) for path in (SOURCES / "src").rglob("*") if path.is_file()]
    paths += [Path(name) for name in ("build.mjs", "package.json", "package-lock.json")]
    assert len(paths) > 15
    digest = hashlib.sha256()
    for name in sorted(path.as_posix() for path in paths):
        digest.update(name.encode() + b"\0" + (SOURCES / name).read_bytes() + b"\0")
    first = console_file("/console/console.js").content.split(b"\n", 1)[0].decode()
    assert re.findall("sources ([0-9a-f]+)", first) == [digest.hexdigest()]


def test_nothing_is_inline_and_nothing_comes_from_elsewhere() -> None:
    page = console_file("/").content.decode()
    assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:|https?://", page)
    assert re.findall(r"<script[^>]*>(.*?)</script>", page) == [""]
    sources = list((SOURCES / "src").rglob("*.js"))
    assert not [
        path for path in sources if re.search(r"innerHTML|\beval\(|document\.write", path.read_text())
    ]
    styles = console_file("/console/console.css").content.decode()
    assert not re.search(r"url\(|@import", styles)


def test_licences_of_libraries_are_named() -> None:
    notices = console_file("/console/third_party.txt").content.decode()
    for name in ("preact", "htm", "@codemirror/view", "@lezer/lr", "style-mod"):
        assert re.search(rf"^{name} \d+\.\d+\.\d+ \((MIT|Apache-2.0)\)$", notices, re.MULTILINE)


def test_the_page_needs_no_token_and_what_it_asks_does(tmp_path: Path) -> None:
    rig = HttpRig(tmp_path, token="a token of some length")
    try:
        for path in CONSOLE_PATHS:
            with urllib.request.urlopen(rig.server.url + path) as answer:
                assert answer.read() == console_file(path).content
                policy = answer.headers["Content-Security-Policy"]
                assert "script-src 'self';" in policy and "unsafe" not in policy
                assert answer.headers["X-Content-Type-Options"] == "nosniff"
        for question in (
            "/v1/query-page",
            "/v1/schema",
            "/v1/network",
            "/v1/batches",
            "/v1/latest-dead-letters",
        ):
            assert rig.ask("GET", question)[0] == 401
        assert rig.ask("POST", "/v1/check", "{}", Content_Type="application/json")[0] == 401
        assert rig.ask("GET", "/console/../v1/status")[0] in (401, 404)
        assert rig.ask("GET", "/console/console_files.py")[0] in (401, 404)
    finally:
        rig.close()


def test_a_file_that_has_not_changed_is_not_sent_again(tmp_path: Path) -> None:
    rig = HttpRig(tmp_path)
    try:
        connection = rig.connect()
        tag = console_file("/").headers["ETag"]
        request = f"GET / HTTP/1.1\r\nHost: localhost\r\nIf-None-Match: {tag}\r\nConnection: close\r\n\r\n"
        connection.sendall(request.encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 304")
        connection.close()
    finally:
        rig.close()
