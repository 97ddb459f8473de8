"""Canonical conditions on whole numbers as formulas of a solver, which finds what contradicts a claim."""

from __future__ import annotations

import z3

from seine.algebra.expressions import Call, Column, Expression
from seine.algebra.linear import coefficients_of
from seine.optimizer.canonical.atoms import Atom, Clause, PredicateSet
from seine.optimizer.canonical.exact_numbers import is_exact, number_of


def counterexample(stronger: PredicateSet, weaker: PredicateSet) -> dict[int, int] | None:
    """A row that satisfies the first and not the second, without its NULLs; None if there is none."""
    solver = z3.Solver()
    solver.add([z3_clause(clause) for clause in stronger])
    solver.add(z3.Not(z3.And([z3_clause(clause) for clause in weaker])))
    if solver.check() == z3.unsat:
        return None
    model = solver.model()
    columns = {int(str(name)[1:]) for name in model}
    known = {c for c in columns if z3.is_true(model.eval(z3.Bool(f"n{c}")))}
    return {c: model.eval(z3.Int(f"v{c}"), model_completion=True).as_long() for c in known}


def z3_clause(clause: Clause) -> z3.BoolRef:
    return z3.Or([z3_atom(atom) for atom in clause])


def z3_value(term: Expression) -> tuple[z3.ArithRef, z3.BoolRef]:
    """The number of a term, and whether it has one."""
    if isinstance(term, Column):
        return z3.Int(f"v{term.index}"), z3.Bool(f"n{term.index}")
    assert isinstance(term, Call)
    coefficients = coefficients_of(term.name)
    assert coefficients is not None
    parts = [z3_value(arg) for arg in term.args]
    total = z3.Sum([c * value for c, (value, _) in zip(coefficients, parts, strict=True)])
    return total, z3.And([known for _, known in parts])


def z3_atom(atom: Atom) -> z3.BoolRef:
    if atom.op == "holds":
        if not isinstance(atom.term, Call):
            return z3.BoolVal(False)  # the clause that never holds
        left, right = (z3_value(arg) for arg in atom.term.args)
        return z3.And(left[1], right[1], compared(atom.term.name, left[0], right[0]))
    value, known = z3_value(atom.term)
    if atom.op == "is_null":
        return z3.Not(known)
    if atom.op == "is_not_null":
        return known
    assert atom.constant is not None and is_exact(atom.constant.type)
    return z3.And(known, compared(atom.op, value, z3.IntVal(int(number_of(atom.constant)))))


def compared(op: str, left: z3.ArithRef, right: z3.ArithRef) -> z3.BoolRef:
    return {
        "eq": left == right,
        "ne": left != right,
        "lt": left < right,
        "le": left <= right,
        "gt": left > right,
        "ge": left >= right,
    }[op]
