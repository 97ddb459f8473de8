"""Kernels of MD5, SHA1, SHA2 and CRC32: each distinct text once."""

from __future__ import annotations

import hashlib
import zlib

import pyarrow as pa

from seine.algebra.expressions import Call
from seine.evaluate.kernels.constants import with_constants
from seine.evaluate.kernels.datum import Kernel
from seine.evaluate.kernels.strings import map_distinct

_SHA2 = {0: "sha256", 224: "sha224", 256: "sha256", 384: "sha384", 512: "sha512"}  # by length in bits


def _hexadecimal(array: pa.Array, algorithm: str) -> pa.Array:
    def digest(text: str | None) -> str | None:
        return (
            None if text is None else hashlib.new(algorithm, text.encode(), usedforsecurity=False).hexdigest()
        )

    return map_distinct(digest, array, pa.string())


def _digest(algorithm: str) -> Kernel:
    return lambda _, args: _hexadecimal(args[0], algorithm)


def _sha2(_: Call, array: pa.Array, bits: int) -> pa.Array:
    """SHA2: NULL for a length that the family has not."""
    return _hexadecimal(array, _SHA2[bits]) if bits in _SHA2 else pa.nulls(len(array), pa.string())


KERNELS: dict[str, Kernel] = {
    "md5": _digest("md5"),
    "sha1": _digest("sha1"),
    "sha2": with_constants(_sha2, 1),
    "crc32": lambda _, args: map_distinct(lambda text: zlib.crc32(text.encode()), args[0], pa.int64()),
}
