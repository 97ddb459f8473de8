"""TLS: the service speaks it by files, its clients know the certificate by the folder."""

from __future__ import annotations

import http.client
import json
import ssl
import subprocess
from pathlib import Path

import pytest

from seine.cli.main import main
from seine.errors import RunError, SeineError
from seine.service.client import Client
from seine.service.http.listening import Certificate
from tests.support.http_rig import HttpRig

SCRIPT = (
    "CREATE STREAM s (a BIGINT, ts BIGINT) TIMESTAMP BY ts FROM 's.jsonl'; CREATE QUERY q AS SELECT a FROM s;"
)


def _certificate(folder: Path, name: str = "tls") -> Certificate:
    chain, key = folder / f"{name}.pem", folder / f"{name}.key"
    words = [
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "2",
    ]
    words += ["-subj", "/CN=service.example", "-keyout", str(key), "-out", str(chain)]
    subprocess.run(["openssl", *words], check=True, capture_output=True)
    return Certificate(str(chain), str(key))


def test_a_service_speaks_tls(tmp_path: Path) -> None:
    certificate = _certificate(tmp_path)
    rig = HttpRig(tmp_path, certificate=certificate)
    try:
        assert rig.server.url.startswith("https://127.0.0.1:")
        rig.service.folder.publish({"url": rig.server.url, "certificate": certificate.chain})
        client = Client(rig.service.folder.path)
        client.register(SCRIPT, file="x.sql", folder=str(tmp_path))
        rig.feed(1, 2)
        records = b"".join(client.tail("q", "start", follow=False)).splitlines()
        assert [json.loads(line)["row"]["a"] for line in records] == [1, 2]
        with pytest.raises(RunError, match="does not answer"):
            Client(rig.server.url).status()  # nobody has said that this certificate is to be trusted
        with pytest.raises(RunError, match="does not answer"):
            Client(rig.server.url.replace("https", "http")).status()
        _refuses_other_sites(rig, certificate)
    finally:
        rig.close()


def _refuses_other_sites(rig: HttpRig, certificate: Certificate) -> None:
    where = rig.server.url.removeprefix("https://")
    context = ssl.create_default_context(cafile=certificate.chain)
    context.check_hostname = False
    for origin, status in ((f"https://{where}", 200), (f"http://{where}", 403)):
        connection = http.client.HTTPSConnection(where, context=context, timeout=10)
        connection.request("GET", "/v1/status", headers={"Origin": origin})
        assert connection.getresponse().status == status, origin
        connection.close()


def test_another_certificate_is_not_trusted(tmp_path: Path) -> None:
    rig = HttpRig(tmp_path, certificate=_certificate(tmp_path))
    try:
        other = _certificate(tmp_path, "other")
        rig.service.folder.publish({"url": rig.server.url, "certificate": other.chain})
        with pytest.raises(RunError, match="does not answer"):
            Client(rig.service.folder.path).status()
    finally:
        rig.close()


def test_files_that_cannot_be_used_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, other = _certificate(tmp_path), _certificate(tmp_path, "other")
    one.refuse_unusable()
    (tmp_path / "empty").write_text("")
    for chain, key in (
        (one.chain, other.key),
        (one.chain, str(tmp_path / "none")),
        (str(tmp_path / "empty"), one.key),
        (one.key, one.key),
    ):
        with pytest.raises(SeineError, match="the certificate cannot be used"):
            Certificate(chain, key).refuse_unusable()
    assert main(["serve", str(tmp_path / "state"), "--tls-cert", one.chain]) == 1
    assert "belong together" in capsys.readouterr().err
    assert main(["serve", str(tmp_path / "state"), "--tls-cert", one.chain, "--tls-key", other.key]) == 1
    assert "cannot be used" in capsys.readouterr().err
