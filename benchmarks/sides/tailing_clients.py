"""A side: clients that follow one query of a service by long polls, in a process of their own."""

from __future__ import annotations

import asyncio
import sys
from urllib.parse import urlsplit

_WAIT_SECONDS = 20


async def _follow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, query: str) -> None:
    """Ask again and again for what comes after the last answer, on one connection."""
    place = "start"
    while True:
        path = f"/v1/queries/{query}/results?from={place}&wait={_WAIT_SECONDS}"
        writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        headers = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if line)
        await reader.readexactly(int(headers["content-length"]))
        place = headers["seine-next"]


async def _follow_all(url: str, query: str, clients: int) -> None:
    where = urlsplit(url)
    connections = [await asyncio.open_connection(where.hostname, where.port) for _ in range(clients)]
    print("following", flush=True)
    await asyncio.gather(*(_follow(*connection, query) for connection in connections))


def main(arguments: list[str]) -> None:
    """Follow until the service ends: URL, query, number of clients."""
    url, query, clients = arguments
    try:
        asyncio.run(_follow_all(url, query, int(clients)))
    except (OSError, asyncio.IncompleteReadError):
        return  # the service has ended


if __name__ == "__main__":
    main(sys.argv[1:])
