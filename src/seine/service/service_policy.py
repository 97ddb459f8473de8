"""What may be registered in a service: by role and owner, within quotas, from and to allowed places."""

from __future__ import annotations

from seine.algebra.definitions import SinkDef, StreamDef
from seine.frontends.script.script import Declarations, Script
from seine.lifecycle.edit import Asker, Edit, RegisteredScript
from seine.lifecycle.view import View
from seine.network.network import Network
from seine.runtime.option_secrets import OptionSecrets
from seine.safety.verdict import read_statements
from seine.service.access.allow_list import confine
from seine.service.access.principal import LOCAL
from seine.service.access.quotas import Quota
from seine.service.folder import ServiceFolder
from seine.service.source_gate import SourceGate
from seine.sinks.sink_checks import refuse_unfit


class ServicePolicy:
    """Judges changes of one service."""

    local = LOCAL

    def __init__(
        self, folder: ServiceFolder, sources: SourceGate, quota: Quota, secrets: OptionSecrets
    ) -> None:
        self._folder, self._sources, self._quota, self._secrets = folder, sources, quota, secrets

    def read(self, script: RegisteredScript, file: str, known: Declarations) -> Script:
        """A script whose files are within the folders that are allowed."""
        roots, pushed = self._sources.roots, self._folder.pushed
        text, folder, replace = script.text, script.folder, script.replace
        read = read_statements(text, file, folder, known, replace=replace, pushed=pushed, within=roots)
        confine(read.declarations, known, roots)
        return read

    def refuse(self, edit: Edit, view: View, by: Asker) -> None:
        """Refuse what its author may not do, what is out of reach, and too many queries of an owner."""
        by.refuse(edit, view)
        self._sources.refuse_out_of_reach(edit, view)
        self._quota.refuse_queries(edit, view)

    def refuse_stream(self, stream: StreamDef) -> None:
        """Refuse a stream that may not be read, is what we write, or that Spark cannot open."""
        self._sources.refuse(stream)

    def refuse_sink(self, sink: SinkDef, declared: Declarations) -> None:
        """Refuse a sink that could never deliver, or would deliver into the folder of the service."""
        refuse_unfit(sink, declared)
        if sink.kind == "folder":
            self._folder.refuse_inside(sink.target)
        self._secrets.values(f"sink {sink.name}", sink.options)

    def refuse_network(self, edit: Edit, view: View, network: Network) -> None:
        """Refuse too many joins of an owner."""
        self._quota.refuse_joins(edit, view, network)
