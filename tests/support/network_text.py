"""A network as text, to compare two of them."""

from __future__ import annotations

import json

from seine.network.network import Network


def network_text(network: Network) -> str:
    """The JSON text of a network, the same for the same network."""
    return json.dumps(network.to_json(), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
