"""The declaration of a stage, and the list of all stages.

A stage is one module of this package or of `papers`, of the same name, that ends in `STAGE = Stage(...)`. It
imports nothing heavy at its top (no NumPy, Zarr, Dask, Numba or CuPy), because planning imports it.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    PlainSerializer,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)
from pydantic_core import PydanticKnownError, core_schema

from gravel.stages.sizes import Extent as Extent
from gravel.stages.sizes import Machine as Machine
from gravel.stages.sizes import Need as Need
from gravel.stages.urls import visible

if TYPE_CHECKING:
    from gravel.stages.artifact import Artifact


PAPERS = "papers"
"""The folder of what serves the reproduction of one paper alone; it may be absent."""


class Parameters(BaseModel):
    """Base of every stage's parameters: frozen, unknown names refused, a text below each field."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @classmethod
    def model_json_schema(cls, *arguments: Any, **options: Any) -> dict[str, Any]:
        """Return the JSON schema, with what each field means; arguments as pydantic has them."""
        documented(cls)
        return super().model_json_schema(*arguments, **options)


@cache
def documented(model: type[BaseModel]) -> type[BaseModel]:
    """Return the model itself, with the text below each field as its description, also of fields' models.

    Pydantic can read them whenever a model is made, which costs every run a tenth of its start.
    """
    for each in model.model_fields.values():
        for inner in models_in(each.annotation):
            if inner is not model:
                documented(inner)
    for owner in model.__mro__:
        if owner is not BaseModel and issubclass(owner, BaseModel):
            for name, text in _texts(owner).items():
                described = model.model_fields[name]
                described.description = described.description or text
    model.model_rebuild(force=True)
    return model


def _texts(model: type[BaseModel]) -> dict[str, str]:
    """Read the text after each annotated name of a class; nothing where its source is not at hand."""
    try:
        definition = ast.parse(textwrap.dedent(inspect.getsource(model))).body[0]
    except (OSError, TypeError, SyntaxError, IndexError):
        return {}
    if not isinstance(definition, ast.ClassDef):
        return {}
    found = {}
    for before, after in zip(definition.body, definition.body[1:], strict=False):
        if not isinstance(before, ast.AnnAssign) or not isinstance(before.target, ast.Name):
            continue
        if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            text = after.value.value
            if isinstance(text, str) and before.target.id in model.model_fields:
                found[before.target.id] = inspect.cleandoc(text)
    return found


def models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield the models inside a type: of unions, lists, mappings and annotated types."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from models_in(argument)


def _as_named(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
    try:
        return handler(value)
    except ValidationError:
        # Pydantic takes no text with surrogates.
        if isinstance(value, str) and visible(value) != value:
            return value
        raise


FileName = Annotated[str, WrapValidator(_as_named), PlainSerializer(visible, when_used="json-unless-none")]
"""The path or URL of a file. A name that is not UTF-8 has surrogates for its bytes, in JSON escapes."""


@dataclass(frozen=True)
class OneOf:
    """Annotation of a text that is one of the names of a table, as a literal lists them."""

    choices: Callable[[], tuple[str, ...]]

    def _checked(self, given: Any) -> str:
        if not isinstance(given, str) or given not in self.choices():
            *quoted, last = map(repr, self.choices())
            raise PydanticKnownError("literal_error", {"expected": f"{', '.join(quoted)} or {last}"})
        return given

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Check a value against the names of that moment."""
        return core_schema.no_info_plain_validator_function(self._checked)

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        """List the names as a literal would."""
        return {"enum": list(self.choices()), "type": "string"}


@dataclass(frozen=True)
class Slot:
    """One input of a stage: which kinds of artifact fit, whether it takes several, and may be left out."""

    kinds: tuple[str, ...]
    about: str
    many: bool = False
    optional: bool = False


@dataclass(frozen=True)
class FileInput:
    """A file or URL that the parameters name; its content is part of the recipe, and so are `columns`.

    With `several` it may be a folder or a pattern, and the order of such files changes nothing.
    """

    location: str
    sha256: str | None = None
    columns: tuple[tuple[str, str], ...] = ()
    several: bool = False


@dataclass(frozen=True)
class Origin:
    """The origin of a stage that is not gravel's own, and the digest of its code for the recipe."""

    place: str  # a file, or a package with its version
    code: str


@dataclass(frozen=True)
class CannotRun:
    """The reason why a stage cannot run on a backend, and what would let it."""

    reason: str
    hint: str


@dataclass(frozen=True)
class Fault:
    """A value among a stage's parameters that does not fit, by the keys that lead to it, and what would."""

    path: tuple[str, ...]
    value: Any
    message: str


def _no_faults(parameters: Any) -> tuple[Fault, ...]:
    return ()


def _fits_any_kind(parameters: Any, kinds: Mapping[str, Sequence[str]]) -> tuple[Fault, ...]:
    return ()


def _can_always(parameters: Any, backend: str) -> CannotRun | None:
    return None


def _no_files(parameters: Any) -> tuple[FileInput, ...]:
    return ()


def no_parts(parameters: Any) -> Sequence[tuple[Stage, Any]]:
    """Ask for no parts."""
    return ()


def _no_ids(parameters: Any) -> tuple[int | str, ...]:
    return ()


def _no_file(parameters: Any) -> str | None:
    return None


def _never(parameters: Any) -> bool:
    return False


def _same(parameters: Any, vertices: Sequence[int]) -> Any:
    return parameters


@dataclass(frozen=True)
class Stage:
    """A stage: a pure function from artifacts to artifacts, with everything the planner asks about it.

    `run(context, parameters, **inputs)` returns the artifacts of `outputs`, a tuple when there are several.
    An input of a `many` slot arrives as a tuple. `version` is an integer that changes when results may.
    """

    name: str
    version: int
    about: str
    parameters: type[Parameters]
    inputs: Mapping[str, Slot]
    outputs: tuple[str, ...]
    run: Callable[..., Artifact | tuple[Artifact, ...]]
    estimate: Callable[[Any, Mapping[str, tuple[Extent, ...]], Machine], Need]
    outputs_with: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Outputs instead of those where a parameter of such a name is given."""
    measures: bool = False  # result contains timings: the hardware is part of the recipe
    times: Callable[[Any], bool] = _never  # whether results rest on timings with these parameters
    cuda: bool = False  # has a CUDA implementation
    cannot_run: Callable[[Any, str], CannotRun | None] = _can_always  # with these parameters, on this backend
    faults: Callable[[Any], Iterable[Fault]] = _no_faults  # what the parameters' model does not check
    kind_faults: Callable[[Any, Mapping[str, Sequence[str]]], Iterable[Fault]] = _fits_any_kind
    """What parameters ask that inputs of these kinds, by slot, do not have."""
    ranks: Callable[[Any], int] | None = None  # workers that `context.rank_group` needs at once
    files: Callable[[Any], tuple[FileInput, ...]] = _no_files
    parts: Callable[[Any], Sequence[tuple[Stage, Any]]] = no_parts  # what it asks of `context.part`
    source_ids: Callable[[Any], tuple[int | str, ...]] = _no_ids  # file ids named by the parameters
    ids_file: Callable[[Any], str | None] = _no_file  # a file that lists such ids, one a line
    with_vertices: Callable[[Any, Sequence[int]], Any] = _same  # those ids replaced by internal indices
    hidden: frozenset[str] = field(default_factory=frozenset)  # parameters that are not part of the recipe
    origin: Origin | None = None  # set where it is loaded; None for gravel's own

    def given(self, names: Iterable[str]) -> Stage:
        """Return the stage as it is where parameters of these names are given."""
        outputs = next((self.outputs_with[name] for name in names if name in self.outputs_with), self.outputs)
        return self if outputs == self.outputs else replace(self, outputs=outputs)

    def is_timed(self, parameters: Any) -> bool:
        """Return whether results depend on how fast the hardware is."""
        return self.measures or self.times(parameters)


def has_papers() -> bool:
    """Return whether the folder of papers is there."""
    return bool(modules(PAPERS))


def modules(room: str, *, deep: bool = True) -> list[str]:
    """Name the modules of a folder of this package, sorted, those of its folders too if `deep`.

    A folder that is not there has none, nor has `papers` without that of kernels.
    """
    try:
        package = importlib.import_module(f"gravel.stages.{room}")
    except ModuleNotFoundError as error:
        if error.name not in (f"gravel.stages.{room}", f"gravel.kernels.{room}"):
            raise
        return []
    return sorted(_below(list(package.__path__), f"{package.__name__}.", deep))


def _below(paths: Sequence[str], prefix: str, deep: bool) -> Iterator[str]:
    for each in pkgutil.iter_modules(paths):
        yield f"{prefix}{each.name}"
        if each.ispkg and deep:
            yield from _below([f"{path}/{each.name}" for path in paths], f"{prefix}{each.name}.", deep)


def declared(room: str, name: str, *, deep: bool = True) -> Iterator[Any]:
    """Import the modules of a folder and yield what each declares under a name; see `modules`."""
    for module in modules(room, deep=deep):
        value = getattr(importlib.import_module(module), name, None)
        if value is not None:
            yield value


class OwnStages(Mapping[str, Stage]):
    """gravel's own stages by name: `STAGE` of the module of that name, imported when it is asked for.

    Iteration and length import every module of this package and of `papers`.
    """

    def __init__(self) -> None:
        from gravel import stages

        own = [
            f"gravel.stages.{each.name}" for each in pkgutil.iter_modules(stages.__path__) if not each.ispkg
        ]
        self._modules = {module.rpartition(".")[2]: module for module in (*modules(PAPERS), *own)}

    def __getitem__(self, name: str) -> Stage:
        if name in self._modules:
            stage = getattr(importlib.import_module(self._modules[name]), "STAGE", None)
            if isinstance(stage, Stage):
                return stage
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return (name for name in sorted(self._modules) if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


@cache
def all_stages() -> OwnStages:
    """Return gravel's own stages by name."""
    return OwnStages()
