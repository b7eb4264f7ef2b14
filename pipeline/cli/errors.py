"""What goes wrong, as a message and an exit code; a traceback is never printed."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any, NoReturn

import click

from gravel.pipeline.core.errors import GravelError, Location, Problem, RequestError
from gravel.stages.errors import StageError
from gravel.stages.urls import hidden_in_text

INTERRUPTED = 130


def echo(text: str, *, err: bool = False) -> None:
    """Print text whose colours are dropped without a terminal and under NO_COLOR.

    That nobody reads standard error does not change how a command ends.
    """
    with suppress(OSError) if err else nullcontext():
        click.echo(hidden_in_text(text), err=err, color=False if os.environ.get("NO_COLOR") else None)


def exit_code(error: BaseException) -> int:
    """Return the command's exit code for an error."""
    if isinstance(error, KeyboardInterrupt | click.Abort):
        return INTERRUPTED
    if isinstance(error, GravelError | click.ClickException):
        return error.exit_code
    return 1


def render(error: BaseException) -> str:
    """Write an error for people: place, message, the line with a caret, and what to do."""
    if isinstance(error, GravelError):
        problems = error.problems
    else:
        problems = (Problem(str(error) or type(error).__name__, getattr(error, "hint", None)),)
    return "\n".join(line for problem in problems for line in _problem_lines(problem))


def _problem_lines(problem: Problem) -> Iterator[str]:
    place = problem.location
    head = click.style("error:", fg="red", bold=True)
    if place is None:
        yield f"{head} {problem.message}"
    elif place.line == 0:
        yield f"{head} {place.file}: {problem.message}"
    else:
        where = click.style(f"{place.file}:{place.line}:{place.column}:", bold=True)
        yield f"{where} {head} {problem.message}"
        yield from _snippet_lines(place)
    if problem.hint:
        yield f"  {click.style('hint:', fg='cyan')} {problem.hint}"


WIDTH = 100  # columns of a snippet; a longer line is cut around the caret


def _snippet_lines(place: Location) -> Iterator[str]:
    text = "".join(character if character.isprintable() else " " for character in place.snippet)
    if not text.strip():
        return
    column = min(place.column, len(text) + 1)
    if "://" in text:
        # What is hidden before the caret moves it; in what is hidden it stands at the end. A query may have
        # blanks in it: what follows them is dropped to the end of the quotes, or of the line.
        cut = re.sub(r"(://[^\"'?]*\?[^\"'\s]*)( [^\"'}\],]*)", r"\1", text)
        before, text = hidden_in_text(text[: column - 1]), hidden_in_text(cut)
        column = min(len(before), len(text)) + 1
    start = max(0, column - WIDTH // 2) if len(text) > WIDTH else 0
    margin = f"{place.line:>5} | "
    yield margin + text[start : start + WIDTH]
    yield " " * (len(margin) - 2) + "| " + " " * (column - 1 - start) + click.style("^", fg="red", bold=True)


def run_command(command: Callable[[], Any]) -> NoReturn:
    """Run a command to its exit; a click command's own exit codes are kept."""
    _open_closed_streams()
    result = None
    try:
        result = command()
        sys.stdout.flush()
    except click.exceptions.Exit as ended:
        sys.exit(ended.exit_code)
    except click.ClickException as error:
        _show_refusal(error)
        sys.exit(error.exit_code)
    except SystemExit:
        if type(sys.stdout).__name__.endswith("PacifyFlushWrapper"):
            # How click, which would exit with 1, leaves the stream when whoever read it has had enough.
            sys.exit(0)
        raise
    except (KeyboardInterrupt, click.Abort):
        echo("interrupted", err=True)
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        # Whoever read the output has had enough; point stdout elsewhere, or Python complains at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(result if isinstance(result, int) else 0)
    except Exception as error:
        shown = _for_people(error)
        echo(render(shown), err=True)
        sys.exit(exit_code(shown))
    sys.exit(result if isinstance(result, int) else 0)


INSTEAD = {
    "--markdown": "`gravel stages NAME` shows a stage, and `gravel docs stages/NAME` its page",
    "--remake": "say `keep: true` or `keep: false` at the entries of the workflow",
    "--tune": "give constants in a workflow, such as `tuning: {alpha: 12}` of traverse",
}
"""What to do instead of giving an option that does not exist."""


def _show_refusal(error: click.ClickException) -> None:
    """Write what click refuses as every other error is written; a group without a command shows its help."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        with suppress(OSError):
            error.show()
        return
    message = error.format_message().rstrip(".").replace(". (Did", " (did")
    instead = INSTEAD.get(getattr(error, "option_name", ""))
    if instead is not None:
        message = message.partition(" (did you mean")[0]  # it is not misspelled
    message = message.replace("a valid integer range", "a whole number")
    context = getattr(error, "ctx", None)
    hint = None if context is None else f"`{context.command_path} --help` lists what there is"
    echo(render(GravelError(message[:1].lower() + message[1:], hint=instead or hint)), err=True)


def _open_closed_streams() -> None:
    """Point standard streams that are closed at nothing, before a file of the cache takes their number."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(number, True)  # for the workers
    os.close(number)
    sys.stdin = sys.stdin or open(0, closefd=False)  # noqa: SIM115 (for as long as the process)
    sys.stdout = sys.stdout or open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", closefd=False)  # noqa: SIM115


def _for_people(error: Exception) -> Exception:
    """Return what is shown of an error; the traceback of an unexpected one, and of the system's, is kept."""
    if isinstance(error, GravelError | StageError):
        return error
    if isinstance(error, OSError):
        try:
            os.getcwd()  # noqa: PTH109 (a check, no path)
        except FileNotFoundError:
            return RequestError("the current directory no longer exists", hint="change to another one")
        path = _save_traceback(error)
        subject = f"{error.filename}: " if error.filename is not None else ""
        reason = (error.strerror or str(error)).lower()
        return GravelError(f"{subject}{reason}", hint=f"details are in {path}" if path else None)
    from gravel.kernels.settings import setting_at_fault

    if (setting := setting_at_fault(error)) is not None:
        return RequestError(str(setting))
    path = _save_traceback(error)
    where = f"; the traceback is in {path}" if path else ""
    summary = " ".join(str(error).split())[:200]
    return GravelError(
        f"gravel failed ({type(error).__name__}: {summary}){where}\n"
        "  this is a defect of gravel; please report it with that file"
    )


def _save_traceback(error: BaseException) -> Path | None:
    """Keep the traceback in a file; the disk may be what failed, so this may not work."""
    import tempfile
    import traceback

    text = hidden_in_text("".join(traceback.format_exception(error)))
    try:
        handle, name = tempfile.mkstemp(prefix="gravel-traceback-", suffix=".txt")
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
            file.write(hidden_in_text(" ".join(sys.argv)) + "\n\n" + text)
    except OSError:
        return None
    return Path(name)
