"""The digest of a plugin's code: what its results may depend on besides parameters and inputs.

It covers the plugin's file, or all modules of the package that its module leads to, without comments,
docstrings and formatting. Of what these import it covers modules outside `site-packages` in the same way,
with all that they import in turn; compiled modules there by their bytes; and installed distributions by their
versions. The standard library is left out.

A module leads to those that it imports, at the top or inside functions; to those named in a string, as
"module:function" or alone; to all of a package whose strategies it lists or of which it builds a module's
name (f"gravel.kernels.order.{method}"); and to the CUDA files named in a string, with what they include.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from importlib.machinery import EXTENSION_SUFFIXES, PathFinder
from importlib.util import decode_source
from pathlib import Path

from blake3 import blake3

from gravel.pipeline.core.files import ROOT

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

MAX_TEXTS = 4096  # files whose digests and names are kept, by what is in them: more than gravel has


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
    return _named(text).modules | _named(text).packages


def _text(node: ast.AST) -> str:
    """Return the value of a string constant, else an empty string."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


ABSENT = "absent"  # for a module that is not there; code that goes on without it may do otherwise then


def file_code(text: bytes) -> str:
    """Digest the code of a plugin file; raises SyntaxError or ValueError if it is no Python."""
    source = decode_source(text)
    return _digest({"": python_digest(source)}, names_in(source))


def package_code(module: str) -> str:
    """Digest the code of a stage's module in an installed package, with what it leads to there."""
    top = module.partition(".")[0]
    root = _root_of(top)
    if root is None:
        return _digest({"": ABSENT}, ())
    sources = Sources(root, (top,))
    used = {name for name in _named_by(sources, (module,)) if name.partition(".")[0] != top}
    return _digest({"": sources.digest(module)}, used)


def _digest(parts: dict[str, str], used: Iterable[str]) -> str:
    found = dict(parts)
    names, waiting = set[str](), set(used)
    outside: dict[str, Sources] = {}
    while waiting:
        names |= waiting
        new: set[str] = set()
        for top in {name.partition(".")[0] for name in waiting} - sys.stdlib_module_names - {"gravel"}:
            root = _root_of(top)
            if root is None:
                found[top] = ABSENT
            elif versions := _distributions_with(root, top):
                found[top] = versions
            else:
                sources = outside.setdefault(top, Sources(root, (top,)))
                new |= set(_named_by(sources, _of(top, names)))
        waiting = new - names
    for top, sources in outside.items():
        found[top] = _closure(sources, _of(top, names))
    if own := {name for name in _of("gravel", names) if name.startswith(GRAVEL)}:
        found["gravel"] = _distributions_with(ROOT, "gravel") or _closure(Sources(ROOT), own)
    return blake3(json.dumps(found, sort_keys=True).encode()).hexdigest()


def _of(top: str, names: Iterable[str]) -> list[str]:
    return sorted(name for name in names if name.partition(".")[0] == top)


def _named_by(sources: Sources, modules: Iterable[str]) -> Iterator[str]:
    """Yield what the modules, and all of the same package that they lead to, import or name."""
    there = [module for module in modules if sources.path(module) is not None]
    for module in sources.closure(*there):
        path = sources.root / module if "/" in module else sources.path(module)
        if path is not None and path.suffix == ".py":
            yield from names_in(path.read_text(encoding="utf-8"))


def _closure(sources: Sources, named: Iterable[str]) -> str:
    return sources.digest(*(name for name in sorted(named) if sources.path(name) is not None))


def _root_of(top: str) -> Path | None:
    """Return the folder that holds a top-level package or module, without importing it."""
    spec = None
    with suppress(ImportError, ValueError):
        spec = PathFinder.find_spec(top)
    if spec is None:
        return None
    if spec.origin is None:  # a package without __init__.py
        return Path(next(iter(spec.submodule_search_locations or ()), "/nowhere/none")).parent
    path = Path(spec.origin)
    return path.parent.parent if path.name.startswith("__init__.") else path.parent


def _distributions_with(root: Path, top: str) -> str:
    """Return names and versions of the distributions installed in a folder with a module; "" if none.

    A package without `__init__.py` may come from several. Their names are not always its own (`PIL`: pillow);
    `importlib.metadata.packages_distributions` answers too, in 100 ms, so the lists of files are searched.
    """
    if root.name not in ("site-packages", "dist-packages"):
        return ""
    found = [info.name.rsplit(".", 1)[0] for info in _declarations(root, top) if _holds(info, top)]
    return " ".join(sorted(found))


def _declarations(root: Path, top: str) -> list[Path]:
    every = [*root.glob("*.dist-info"), *root.glob("*.egg-info")]
    if (root / top).is_dir() and not (root / top / "__init__.py").is_file():
        return every
    # One distribution has it, which nearly always bears its name.
    same = [info for info in every if _plain(info.name.partition("-")[0]) == _plain(top)]
    return same if any(_holds(info, top) for info in same) else every


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "_", name).lower()


def _holds(info: Path, top: str) -> bool:
    for name in ("RECORD", "installed-files.txt", "top_level.txt"):
        with suppress(OSError):  # an egg-info may be a file
            text = (info / name).read_bytes()
            if re.search(rb"^(?:\.\./)?%s(?:[/.,\r]|$)" % re.escape(top.encode()), text, re.MULTILINE):
                return True
    return False
