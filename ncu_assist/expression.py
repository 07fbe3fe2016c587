"""Arithmetic of kernel.toml: ``bytes``, ``flops`` and shapes as expressions over a workload's integers."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping

from ncu_assist.errors import UsageProblem, did_you_mean

_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
}
SHOWN = 80  # characters of an expression that cannot be read


def evaluate(text: str, integers: Mapping[str, int]) -> int:
    """Return the value of ``text``, which may use integers, names, ``+ - * //`` and parentheses, and nothing else.

    Raises UsageProblem for any other syntax and for names that are not in ``integers``.
    """
    try:
        tree = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:  # NUL, and parentheses without end
        raise UsageProblem(f"'{text[:SHOWN]}' is not an expression", "use integers, names and + - * //") from error
    try:
        return _value(tree.body, integers)
    except ZeroDivisionError as error:
        raise UsageProblem(f"'{text}' divides by zero", "a divisor that is not 0 on any workload") from error
    except RecursionError as error:
        raise UsageProblem(f"'{text[:SHOWN]}' is too long", "a shorter expression") from error


def _value(node: ast.expr, integers: Mapping[str, int]) -> int:
    match node:
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            return value
        case ast.Name(id=name) if name in integers:
            return integers[name]
        case ast.Name(id=name):
            known = did_you_mean(name, integers)
            raise UsageProblem(f"an expression names '{name}'; {known}", "use integers, names and + - * //")
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_value(left, integers), _value(right, integers))
    raise UsageProblem(f"'{ast.unparse(node)}' is not allowed in an expression", "use integers, names and + - * //")
