"""What an edit needs of whoever asks for it.

Law: who is no admin changes queries alone, and of these only its own and new ones. What is refused here is
refused before a file is opened or a database asked.
"""

from __future__ import annotations

from collections.abc import Iterator

from seine.frontends.script.script import Declarations
from seine.service.access.principal import ForbiddenError, Principal
from seine.service.edit import Edit
from seine.service.published_view import ServiceView


def refuse_forbidden(edit: Edit, view: ServiceView, who: Principal) -> None:
    """Refuse an edit that its author may not make."""
    if who.may("admin"):
        return
    if not who.may("write"):
        raise ForbiddenError(f"{who.name} may read and change nothing", hint="that needs the role write")
    shared = next(_changed(view.declared, edit.declared), None)
    if shared is not None:
        hint = "streams, relations, views, joins and sinks are declared and dropped by an admin"
        raise ForbiddenError(f"{who.name} may not change {shared}", hint=hint)
    for key in sorted(edit.go | edit.pause | edit.resume):
        registered = view.registered[key]
        if registered.owner != who.name:
            owner = registered.owner or "nobody with a name"
            hint = "that is for its owner or an admin"
            raise ForbiddenError(
                f"query {registered.query.name} belongs to {owner}, not to {who.name}", hint=hint
            )


def changed_declarations(view: ServiceView, edit: Edit) -> list[str]:
    """The streams, relations, views, joins and sinks that an edit makes or ends, in words."""
    return [*_changed(view.declared, edit.declared)]


def _changed(before: Declarations, after: Declarations) -> Iterator[str]:
    for word, old, new in (
        ("stream", before.streams, after.streams),
        ("relation", before.relations, after.relations),
        ("view", before.views, after.views),
        ("sink", before.sinks, after.sinks),
    ):
        for name in dict.fromkeys([*old, *new]):
            if old.get(name) is not new.get(name):
                yield f"{word} {name}"
    for edge in {*before.edges} ^ {*after.edges}:
        yield f"join {edge.left}, {edge.right}"
