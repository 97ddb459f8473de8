"""A network that takes queries one after the other, without a pipeline beneath it."""

from __future__ import annotations

from seine.bench.fed.transfers import DECLARATION
from seine.engine import read_statements
from seine.frontends.script.parser import parse_script
from seine.network.network import Network


class Registrar:
    """The network of many queries over the transfers; a statement is parsed, judged, optimised and added."""

    def __init__(self) -> None:
        declaration = DECLARATION.format(folder="")
        self._declared = parse_script(declaration, file="transfers", folder="/").declarations
        self.network = Network()

    def register(self, statements: str) -> None:
        """Add the queries of some statements as one version."""
        script = read_statements(statements, "queries", "/", self._declared)
        for query, _ in script.queries:
            self.network.add(query)
        self.network.commit()
