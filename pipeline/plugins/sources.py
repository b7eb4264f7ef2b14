"""The modules and CUDA files that Python code leads to, and a digest of them that changes when results may.

A module leads to those that it imports, at the top or inside functions; to those named in a string, as
"module:function" or alone; to all of a package whose strategies it lists or of which it builds a module's
name (f"gravel.kernels.order.{method}"); and to the CUDA files named in a string, with what they include.
Comments, docstrings and formatting do not count.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

from blake3 import blake3

GRAVEL = ("gravel.stages", "gravel.kernels")
"""Packages of gravel that a stage may import; `gravel.pipeline` has no say in results."""

_TARGET = re.compile(r"^([A-Za-z_]\w*(?:\.\w+)+)(?::\w+)?$")
_MEMBER = re.compile(r"^([A-Za-z_]\w*(?:\.\w+)+)\.$")
_CUDA_FILE = re.compile(r"^[\w./-]+\.cuh?$")
_MACRO = re.compile(r"\{\w+\}")
_INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
_CUDA_TOKEN = re.compile(
    r"""(?P<text>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<line>\\\n|\n)""",
    re.DOTALL,
)

MAX_TEXTS = 4096
"""Files whose digests and names are kept, by what is in them: more than gravel has."""


@lru_cache(MAX_TEXTS)
def python_digest(text: str) -> str:
    """Digest Python source without comments, docstrings and formatting."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            # A string that stands alone is a docstring, of a module, class, function or attribute.
            kept = [part for part in body if not (isinstance(part, ast.Expr) and _text(part.value))]
            node.body = kept or [ast.Pass()]  # type: ignore[attr-defined]
    return blake3(_dump(tree).encode()).hexdigest()


def _dump(node: object) -> str:
    """Write a syntax tree in a form that is the same for every Python version, unlike `ast.dump`."""
    if isinstance(node, ast.AST):
        fields = ((name, value) for name, value in ast.iter_fields(node) if value is not None and value != [])
        inner = ", ".join(f"{name}={_dump(value)}" for name, value in fields)
        return f"{type(node).__name__}({inner})"
    if isinstance(node, list):
        return f"[{', '.join(map(_dump, node))}]"
    return repr(node)


@lru_cache(MAX_TEXTS)
def cuda_digest(text: str) -> str:
    """Digest CUDA source without comments and without whitespace that separates nothing."""

    def shorten(match: re.Match[str]) -> str:
        # A comment on variants says with which macros the file is compiled.
        if match["text"] or (match["comment"] or "").startswith("// variants "):
            return match[0]
        # A directive ends with its line, so line ends outside continuations stay.
        return "\n" if match["line"] == "\n" else " "

    code = _CUDA_TOKEN.sub(shorten, text.replace("\r\n", "\n"))
    lines = [re.sub(r"\s*([^\w\s])\s*", r"\1", " ".join(line.split())) for line in code.split("\n")]
    kept: list[str] = []
    for line in filter(None, lines):
        if line.startswith("#") or not kept or kept[-1].startswith("#"):
            kept.append(line)
        else:
            kept[-1] = re.sub(r"\s*([^\w\s])\s*", r"\1", f"{kept[-1]} {line}")
    return blake3("\n".join(kept).encode()).hexdigest()


class Sources:
    """The modules of the packages below a root, and what each of them leads to."""

    def __init__(self, root: Path, packages: Sequence[str] = GRAVEL) -> None:
        self.root = root
        self.packages = tuple(packages)
        self._digests: dict[str, str] = {}
        self._leads: dict[str, frozenset[str]] = {}

    def path(self, module: str) -> Path | None:
        """Return the file that Python would load a module from, or None if there is none."""
        base = self.root.joinpath(*module.split("."))
        compiled = (base.with_name(base.name + suffix) for suffix in EXTENSION_SUFFIXES)
        for path in (base / "__init__.py", *compiled, base.with_suffix(".py")):
            if path.is_file():
                return path
        return None

    def leads_to(self, module: str) -> frozenset[str]:
        """Return the modules and CUDA files of these packages that a module imports or names."""
        if module not in self._leads:
            path = self.path(module)
            is_package = path is not None and path.name == "__init__.py"
            text = path.read_text(encoding="utf-8") if path is not None and path.suffix == ".py" else ""
            names = _named(text, module if is_package else module.rpartition(".")[0])
            found = {parent for name in (module, *names.modules) for parent in self._with_parents(name)}
            for package in names.packages:
                found |= set(self._with_parents(package)) | self._members(package)
            for name in names.cuda:
                found |= self._with_includes(name)
            self._leads[module] = frozenset(found - {module})
        return self._leads[module]

    def _with_parents(self, name: str) -> Iterator[str]:
        parts = name.split(".")
        for count in range(1, len(parts) + 1):
            module = ".".join(parts[:count])
            if self._is_within(module) and self.path(module) is not None:
                yield module

    def _is_within(self, module: str) -> bool:
        return any(module == package or module.startswith(f"{package}.") for package in self.packages)

    def _members(self, package: str) -> set[str]:
        folder = self.root.joinpath(*package.split("."))
        if not self._is_within(package) or not folder.is_dir():
            return set()
        files = [path for path in folder.glob("*.py") if path.name != "__init__.py"]
        inner = [path.parent for path in folder.glob("*/__init__.py")]
        return {f"{package}.{path.stem}" for path in (*files, *inner)}

    def _with_includes(self, name: str) -> set[str]:
        found: set[str] = set()
        waiting = [name]
        while waiting:
            current = waiting.pop()
            if _MACRO.search(current):
                # Which file it is depends on how a kernel is compiled.
                each = self.root.glob(_MACRO.sub("*", current))
                waiting += [path.relative_to(self.root).as_posix() for path in each]
                continue
            path = self.root / current
            if current not in found and path.is_file():
                found.add(current)
                waiting += _INCLUDE.findall(path.read_text(encoding="utf-8"))
        return found

    def closure(self, *modules: str) -> list[str]:
        """Return the modules and all modules and CUDA files that they lead to, in order of name."""
        seen: set[str] = set()
        waiting = list(modules)
        while waiting:
            name = waiting.pop()
            if name not in seen:
                seen.add(name)
                waiting += () if "/" in name else self.leads_to(name)
        return sorted(seen)

    def digest(self, *modules: str) -> str:
        """Digest everything that the results of these modules depend on."""
        parts = {name: self._file(name) for name in self.closure(*modules)}
        return blake3(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    def _file(self, name: str) -> str:
        if name not in self._digests:
            path = self.root / name if "/" in name else self.path(name)
            if path is None:
                raise FileNotFoundError(f"there is no module {name} below {self.root}")
            if path.name.endswith(tuple(EXTENSION_SUFFIXES)):
                digest = blake3(path.read_bytes()).hexdigest()
            else:
                digest = (cuda_digest if "/" in name else python_digest)(path.read_text(encoding="utf-8"))
            self._digests[name] = digest
        return self._digests[name]


class _Names(ast.NodeVisitor):
    """What a module's source names: modules, packages of which it takes any member, CUDA files.

    `package` is that from which its relative imports count.
    """

    def __init__(self, package: str = "") -> None:
        self._package = package.split(".") if package else []
        self.modules: set[str] = set()
        self.packages: set[str] = set()
        self.cuda: set[str] = set()

    def visit_Import(self, node: ast.Import) -> None:
        self.modules |= {alias.name for alias in node.names}

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        above = self._package[: len(self._package) - node.level + 1] if node.level else []
        base = ".".join([*above, *([node.module] if node.module else [])])
        if base and (above or not node.level):
            self.modules |= {base, *(f"{base}.{alias.name}" for alias in node.names)}

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Name) and node.func.id == "strategies_in":
            self.packages |= {text for argument in node.args if (text := _text(argument))}
        self.generic_visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        # f"gravel.stages.{...}" lists all stages, which is no part of any stage: inner packages only.
        if node.values and (match := _MEMBER.match(_text(node.values[0]))) and match[1] not in GRAVEL:
            self.packages.add(match[1])
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str):
            if match := _TARGET.match(node.value):
                self.modules.add(match[1])
            if _CUDA_FILE.match(node.value):
                self.cuda.add(node.value)


@lru_cache(MAX_TEXTS)
def _named(text: str, package: str = "") -> _Names:
    names = _Names(package)
    names.visit(ast.parse(text))
    return names


def names_in(text: str) -> set[str]:
    """Return the modules that Python source imports or names, and the packages of which it takes members."""
    names = _named(text)
    return names.modules | names.packages


def _text(node: ast.AST) -> str:
    """Return the value of a string constant, else an empty string."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
