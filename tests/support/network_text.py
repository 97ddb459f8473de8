"""A network as text, to compare two of them."""

from __future__ import annotations

import json

import msgspec

from seine.network.network import Network


def network_text(network: Network) -> str:
    """The JSON text of a network, the same for the same network."""
    plain = msgspec.to_builtins(network.record(), str_keys=True)
    return json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
