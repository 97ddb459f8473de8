"""Certificates that trust themselves, made by openssl."""

from __future__ import annotations

import subprocess
from pathlib import Path

_CURVE = ("-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")


def self_made_certificate(folder: Path, name: str) -> tuple[Path, Path]:
    """A certificate that trusts itself, and its key."""
    chain, key = folder / f"{name}.pem", folder / f"{name}.key"
    words = ["-subj", f"/CN={name}", "-addext", "subjectAltName=DNS:localhost"]
    command = ["openssl", "req", *_CURVE, *words, "-keyout", str(key), "-out", str(chain)]
    subprocess.run(command, check=True, capture_output=True)
    return chain, key
