"""How the names of a stream's documents are compared: exactly, by declared prefixes, or by local part alone.

The option of a stream is `namespaces = 'ignore'`, or prefixes and the namespaces that they stand for:
`namespaces = 'atom=http://www.w3.org/2005/Atom dc=http://purl.org/dc/elements/1.1/'`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

IGNORE = "ignore"
XML_NAMESPACE = "http://www.w3.org/XML/1998/namespace"  # of the prefix xml, which nobody has to declare
_DECLARATION = re.compile(r"([^\W\d][\w.-]*)=([^\s{}]+?),?")


def read_prefixes(option: str | None) -> Mapping[str, str] | None:
    """The prefixes that an option declares, each with its namespace; None if namespaces are ignored.

    >>> read_prefixes("a=urn:a, b=urn:b")
    {'xml': 'http://www.w3.org/XML/1998/namespace', 'a': 'urn:a', 'b': 'urn:b'}
    >>> read_prefixes("ignore") is None
    True
    """
    if option == IGNORE:
        return None
    matches = [_DECLARATION.fullmatch(word) for word in (option or "").split()]
    if not all(matches):
        raise ValueError("namespaces are 'ignore', or prefix=namespace, separated by spaces")
    return {"xml": XML_NAMESPACE} | {match[1]: match[2] for match in matches if match is not None}


def joined_prefixes(options: Iterable[str | None]) -> str:
    """The option of documents that come from several streams: what their options declare together.

    Where one ignores namespaces, all do. A prefix that they declare differently stands for nothing.

    >>> joined_prefixes(["a=urn:a b=urn:b", None, "b=urn:c d=urn:d"]), joined_prefixes([None, "ignore"])
    ('a=urn:a d=urn:d', 'ignore')
    """
    declared: dict[str, set[str]] = {}
    for option in options:
        prefixes = read_prefixes(option)
        if prefixes is None:
            return IGNORE
        for prefix, namespace in prefixes.items():
            declared.setdefault(prefix, set()).add(namespace)
    del declared["xml"]
    return " ".join(f"{prefix}={uris.pop()}" for prefix, uris in declared.items() if len(uris) == 1)
