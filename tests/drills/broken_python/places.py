"""Places of Python that can be broken: an operator, a constant, a condition or a statement of a function.

Each operator changes one node of the syntax tree: a comparison to its neighbour, `and` to `or`, an arithmetic
or bitwise operation to another, a whole number by one, True to False, a condition to its opposite, `continue`
to `break`, two arguments that are names exchanged, or a call whose value is not used left out.
Annotations, decorators, texts, assertions, and what is outside of functions stay.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, cast

from tests.kernels.tree_copy import ROOT

KERNELS = ("sssp", "distances", "betweenness", "point_to_point", "strong_components")
PIPELINE = ("store", "scheduler", "trust")
ROOMS = (
    *(f"kernels/{room}" for room in KERNELS), "stages/measuring", "gravel",
    *(f"pipeline/{room}" for room in PIPELINE),
)  # fmt: skip

_OTHER: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or,
    ast.Or: ast.And, ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Add, ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd, ast.BitXor: ast.BitOr,
}  # fmt: skip


_LEFT = ("annotation", "returns", "decorator_list", "bases")
"""Fields of nodes that are not broken."""

Change = tuple[str, ast.expr | ast.stmt, ast.expr | ast.stmt]


@dataclass(frozen=True)
class Place:
    """Part of a function, by its first and last position, and what stands there when it is broken."""

    file: str
    function: str
    line: int
    column: int
    end_line: int
    end_column: int
    old: str
    new: str

    @property
    def room(self) -> str:
        return next(room for room in ROOMS if self.file.startswith(f"{room}/"))

    def rank(self, seed: int) -> str:
        return sha256(repr((seed, self.function, self.old, self.new)).encode()).hexdigest()

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.function}: {self.old} -> {self.new}"

    def broken(self, text: str) -> str:
        """Return the file's text with this place broken."""
        lines = text.encode().split(b"\n")
        first, last = lines[self.line - 1], lines[self.end_line - 1]
        changed = first[: self.column] + self.new.encode() + last[self.end_column :]
        return b"\n".join([*lines[: self.line - 1], changed, *lines[self.end_line :]]).decode()


def drawn(seed: int, count: int, rooms: Sequence[str] = ROOMS) -> list[Place]:
    """Return places of these rooms, drawn by a seed, in the order in which they are tried.

    A place is ranked by what it is and not by where it lies, so that code around it may change.
    """
    files = sorted(path for room in rooms for path in (ROOT / room).rglob("*.py"))
    linked = {"pipeline", "stages", "kernels", "docs"}
    places = [
        place
        for path in files
        if not linked & {*path.relative_to(ROOT).parts[1:-1]}
        for place in places_of(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8"))
    ]
    return sorted(places, key=lambda place: (place.rank(seed), place.file, place.line, place.column))[:count]


def places_of(file: str, text: str) -> Iterator[Place]:
    """Yield every place of a file that can be broken."""
    lines = text.encode().split(b"\n")
    for function, node, changed in _changes(ast.parse(text), ()):
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        old = lines[node.lineno - 1 : node.end_lineno]
        old[-1] = old[-1][: node.end_col_offset]
        old[0] = old[0][node.col_offset :]
        new = ast.unparse(changed)
        if isinstance(changed, ast.expr):
            new = f"({new})"
        where = (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)
        yield Place(file, function, *where, " ".join(b"\n".join(old).decode().split()), new)


def _changes(node: ast.AST, names: tuple[str, ...], inside: bool = False) -> Iterator[Change]:
    """Yield the qualified names of functions, nodes in them, and their broken forms."""
    if isinstance(node, ast.JoinedStr | ast.Assert | ast.Raise):
        return  # a part of a formatted text has no position in the file; messages are not what is drilled
    if inside and isinstance(node, ast.expr | ast.stmt):
        for changed in _broken(node):
            yield ".".join(names), node, changed
    function = isinstance(node, ast.FunctionDef)
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        names = (*names, node.name)
    for name, value in ast.iter_fields(node):
        if name in _LEFT or (function and name == "args"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _changes(child, names, inside or function)


def _broken(node: ast.expr | ast.stmt) -> Iterator[ast.expr | ast.stmt]:
    match node:
        case ast.Compare(ops=[operation]) | ast.BoolOp(op=operation) | ast.BinOp(op=operation):
            if other := _OTHER.get(type(operation)):
                yield _with(node, other())
        case ast.AugAssign(op=operation):
            if other := _OTHER.get(type(operation)):
                yield _with(node, other())
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield operand
        case ast.Constant(value=bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(value=int() as value):
            yield ast.Constant(value + 1)
        case ast.Continue():
            yield ast.Break()
        case ast.Expr(value=ast.Call()):
            yield ast.Pass()
        case ast.Call(args=[ast.Name(), ast.Name(), *_] as names):
            changed = deepcopy(node)
            changed.args = [names[1], names[0], *names[2:]]
            yield changed
        case ast.IfExp(test=test):
            changed_if = deepcopy(node)
            changed_if.test = ast.UnaryOp(ast.Not(), test)
            yield changed_if


def _with(node: ast.expr | ast.stmt, new: ast.AST) -> ast.expr | ast.stmt:
    """Return a copy of an operation with another operator."""
    changed: Any = deepcopy(node)
    if isinstance(node, ast.Compare):
        changed.ops = [new]
    else:
        changed.op = new
    return cast("ast.expr | ast.stmt", changed)
