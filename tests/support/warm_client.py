"""`warm_client.py SOCKET WORDS...`: a command whose work another process does, see `warm_command.py`."""

import json
import os
import socket
import sys


def ask(address: str, words: list[str]) -> int:
    """Print what the command wrote; its exit status."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(address)
        with connection.makefile("rw", encoding="utf-8") as lines:
            lines.write(json.dumps({"folder": os.getcwd(), "words": words}) + "\n")
            lines.flush()
            answer = json.loads(lines.read())
    sys.stdout.write(answer["output"])
    sys.stderr.write(answer["errors"])
    return int(answer["status"])


if __name__ == "__main__":
    sys.exit(ask(sys.argv[1], sys.argv[2:]))
