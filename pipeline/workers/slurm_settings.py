"""What a user's `slurm.yaml` says of the jobs in which workers run: `--cluster slurm`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from gravel.pipeline.core.durations import FORM, parse_duration
from gravel.pipeline.core.errors import GravelError, Location, RequestError
from gravel.pipeline.core.files import config_folder
from gravel.pipeline.core.memory import parse_bytes
from gravel.pipeline.core.names import suggest
from gravel.pipeline.workflow.nodes import MapNode, parse, to_text
from gravel.pipeline.workflow.source import Faults, read_workflow_text
from gravel.pipeline.workflow.values import Scope

NAME = "slurm.yaml"

EXAMPLE = "queue: gpu, walltime: 4 h, cores: 32, memory: 256 GiB, gpus: 1, each on a line of its own"


def _seconds(value: object) -> float:
    try:
        return parse_duration(value)
    except ValueError as error:
        raise ValueError(f"{error}; {FORM}") from None


def _size(text: str) -> str:
    try:
        parse_bytes(text)
    except GravelError as error:
        raise ValueError(f"{error}; {error.problems[0].hint}") from None
    return text


def _one_line(text: str) -> str:
    if not text.strip() or "\n" in text:
        raise ValueError("one line of text is expected")
    return text


Seconds = Annotated[float, BeforeValidator(_seconds)]
Size = Annotated[str, AfterValidator(_size)]
Line = Annotated[str, AfterValidator(_one_line)]


class SlurmSettings(BaseModel):
    """The resources of one job, which is one worker, and how many there may be."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    cores: Annotated[int, Field(ge=1)]
    memory: Size
    walltime: Seconds
    queue: Line | None = None
    gpus: Annotated[int, Field(ge=0, le=1)] = 0
    device_memory: Size | None = None
    jobs: Annotated[int, Field(ge=1, le=1024)] = 8
    start: Seconds = 600.0
    interface: Line | None = None
    directives: tuple[Line, ...] = Field((), strict=False)
    prologue: tuple[Line, ...] = Field((), strict=False)
    folder: Line | None = None

    @property
    def time(self) -> str:
        """The wall time as Slurm has it."""
        minutes, seconds = divmod(round(self.walltime), 60)
        return f"{minutes // 60:02d}:{minutes % 60:02d}:{seconds:02d}"


def read_slurm_settings() -> SlurmSettings:
    """Read the user's file; raises RequestError without one, WorkflowError with the places of its faults."""
    path = config_folder() / NAME
    if not path.exists():
        raise RequestError(
            f"--cluster slurm reads {path}, which is not there", hint=f"write what a job gets: {EXAMPLE}"
        )
    source = read_workflow_text(path)
    root, problems = parse(source)
    faults = Faults(source.name)
    faults.add_all(problems)
    if not isinstance(root, MapNode):
        place = Location(source.name, 1, 1) if root is None else source.at(root)
        faults.add("a mapping of settings is expected", EXAMPLE, place)
        faults.raise_if_any()
        raise AssertionError
    scope = Scope(source, path, root, faults)
    filled = {key: scope.fixed(node) for key, node in root.items.items()}
    data = {key: each.value for key, each in filled.items() if each is not None}
    try:
        found = SlurmSettings.model_validate(data)
    except ValidationError as error:
        for detail in error.errors(include_url=False):
            _note(str(detail["loc"][0]), detail["type"], detail["msg"], root, scope)
    faults.raise_if_any()
    return found


def _note(key: str, kind: str, message: str, root: MapNode, scope: Scope) -> None:
    """Note one fault of pydantic's at its place."""
    if kind == "extra_forbidden":
        scope.fault(
            root.keys[key], f"there is no setting {key!r}", suggest(key, SlurmSettings.model_fields, "key")
        )
    elif kind == "missing":
        scope.fault(root, f"the setting {key!r} is missing", EXAMPLE)
    else:
        expected = message.removeprefix("Value error, ").replace("Input should be ", "expected: ")
        value = scope.fixed(root.items[key])
        shown = "" if value is None else to_text(value.value)
        scope.fault(root.items[key], f"`{key}` is {shown!r}: {expected}")


def shared_folder(settings: SlurmSettings, otherwise: Path) -> Path:
    """Return the folder that jobs see, in which the files of a run are while it runs."""
    # An unknown user's ~name is left as it is.
    return Path(os.path.expanduser(settings.folder)) if settings.folder else otherwise  # noqa: PTH111
