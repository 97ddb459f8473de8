"""GROUP BY keys and set operators written as predicate sets, so that one search serves them too.

A grouping is the set of its keys over one input; a set operation is the set of its inputs. A weaker set is
then a subset, that is a coarser grouping or an operation over fewer inputs; a stronger set is a superset,
that is a finer grouping or an operation over more inputs.

Cites: ARGUS 5.3 (group expressions: supersets of dimensions), ARGUS 5.4 (subsets of inputs)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from seine.algebra.expressions import Expression, Literal
from seine.algebra.plan import SetKind
from seine.algebra.types import STRING
from seine.catalog.index.clauses import set_id, topology_id
from seine.catalog.index.ordered_keys import term_text
from seine.catalog.index.placement import Placement, Topology
from seine.optimizer.canonical.atoms import Atom, PredicateSet


def grouping(query: str, over: Topology, predicates: PredicateSet, keys: Iterable[Expression]) -> Placement:
    """The placement of an aggregate's keys, over the rows of a topology that satisfy a predicate set.

    >>> from seine.algebra.expressions import Column
    >>> from seine.algebra.types import INT
    >>> one = grouping("q", Topology("select", ("bid",)), (), [Column(1, INT), Column(0, INT)])
    >>> two = grouping("q", Topology("select", ("bid",)), (), [Column(0, INT), Column(1, INT)])
    >>> one == two, one == grouping("q", Topology("select", ("bid",)), (), [Column(1, INT)])
    (True, False)
    """
    rows = set_id(topology_id(over), predicates).hex()
    return Placement(query, Topology("group", (rows,)), _set_of(keys, "key"), "group")


def set_operation(query: str, kind: str, inputs: Sequence[str]) -> Placement:
    """The placement of a union of inputs, or of an operation on the first input and the others."""
    unions = ("union_all", "union")
    if kind not in (*unions, *SetKind):
        raise ValueError(f"there is no set operator {kind!r}")
    first = () if kind in unions else inputs[:1]
    rest = [Literal(name, STRING) for name in inputs[len(first) :]]
    return Placement(query, Topology(kind, tuple(first)), _set_of(rest, "input"), "set")


def _set_of(terms: Iterable[Expression], op: str) -> PredicateSet:
    return tuple((Atom(term, op),) for term in sorted(set(terms), key=term_text))
