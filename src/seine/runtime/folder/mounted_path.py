"""Where state may live: folders of a mounted file system, which the driver and all workers see."""

from __future__ import annotations

from seine.errors import SeineError


def refuse_remote(path: str | None, what: str) -> None:
    """Refuse a URL: what is at its end can be neither renamed atomically nor synced, as state has to be.

    >>> refuse_remote("/mnt/shared/state", "the checkpoint")
    >>> refuse_remote("s3a://bucket/state", "the checkpoint")
    Traceback (most recent call last):
    seine.errors.SeineError: the checkpoint 's3a://bucket/state' is a URL, and object stores are not supported
      hint: name a path of a mounted file system that the driver and all workers see
    """
    if path is not None and "://" in path:
        raise SeineError(
            f"{what} '{path}' is a URL, and object stores are not supported",
            hint="name a path of a mounted file system that the driver and all workers see",
        )
