"""README and docs: every block of code runs, links lead somewhere, generated pages are current."""

from __future__ import annotations

import ast
import contextlib
import itertools
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner
from ruamel.yaml import YAML

from docs.reference_pages import WRITE, renew
from gravel.pipeline.cli import main
from gravel.pipeline.workflow.loader import load_workflow
from tests.docs.blocks import PAGES, ROOT, Block, anchors_of, blocks_of, prose_of

LANGUAGES = {"sh", "python", "yaml", "toml", "text"}


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def run(words: list[str], folder: Path, text: str) -> None:
    bin_folder = str(Path(sys.executable).parent)
    environment = {
        **os.environ,
        "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "PYTHONWARNINGS": "error",
    }
    done = subprocess.run(
        words,
        input=text,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"


def run_shell(folder: Path, text: str) -> None:
    """Run a block of shell. Lines that are one `gravel` command run in this process, without other workers.

    Starting Python and loading compiled kernels for each of them would take most of a minute.
    """
    run(["bash", "-n"], folder, text)
    with contextlib.chdir(folder):
        for is_gravel, lines in itertools.groupby(text.splitlines(), lambda line: line.startswith("gravel ")):
            if not is_gravel:
                run(["bash", "-euo", "pipefail", "-s"], folder, "\n".join(lines) + "\n")
                continue
            for line in lines:
                words = shlex.split(line)[1:]
                inline = ["--cluster", "inline"] if words[0] == "run" and "--cluster" not in words else []
                result = CliRunner().invoke(main, [*words, *inline])
                # Some commands return their exit code, as the real command's ending knows.
                code = result.return_value if isinstance(result.return_value, int) else result.exit_code
                assert code == 0, f"{line}: exit code {code}\n{result.output}"


def run_python(folder: Path, block: Block) -> None:
    """Run a block of Python as a program of its own, in this process: loading Numba takes a second each."""
    program = compile(block.text, f"<the block of line {block.line}>", "exec")
    with contextlib.chdir(folder):
        exec(program, {"__name__": "__main__"})


def carry_out(block: Block, folder: Path) -> None:
    """Do with a block what its fence says."""
    if block.language == "yaml":
        if "." in block.mark:
            (folder / block.mark).write_text(block.text)
            load_workflow(folder / block.mark)
        else:
            assert YAML(typ="safe", pure=True).load(block.text)
    elif block.language == "toml":
        assert tomllib.loads(block.text)
    elif block.language == "python":
        ast.parse(block.text)
        if block.mark:
            (folder / block.mark).write_text(block.text)
        else:
            run_python(folder, block)
    elif block.mark in ("gpu", "background"):
        run(["bash", "-n"], folder, block.text)
    elif block.mark == "ci":
        script = (ROOT / ".ci" / "run").read_text()
        for command in filter(None, re.split(r"&&|\n", block.text)):
            assert command.strip().replace("pip install", "pip install -q") in script, command
    else:
        assert not block.mark, block.mark
        run_shell(folder, block.text)


@pytest.mark.parametrize("page", [page for page in PAGES if blocks_of(page)], ids=name_of)
def test_every_block_runs(page, tmp_path, monkeypatch):
    for name in [each for each in os.environ if each.startswith("GRAVEL_")]:
        monkeypatch.delenv(name)
    (tmp_path / ".gravel").mkdir()
    (tmp_path / "workflows").symlink_to(ROOT / "workflows")
    (tmp_path / "tasks").symlink_to(ROOT / "docs" / "tasks")
    for block in blocks_of(page):
        where = f"{name_of(page)}:{block.line}"
        assert block.language in LANGUAGES, f"{where}: a block of {block.language or 'no language'}"
        if block.language == "text":
            continue
        try:
            carry_out(block, tmp_path)
        except Exception as error:
            raise AssertionError(f"{where}: {error}") from error
        for path in tmp_path.glob("graphs/region-[1-5]?.txt"):
            path.unlink()  # sixty files of docs/tasks.md tell no more than ten


def test_a_block_that_fails_is_noticed(tmp_path):
    for block in [
        Block("sh", "", "gravel run nothing.yaml\n", 1),
        Block("sh", "", "false\ntrue\n", 1),
        Block("sh", "gpu", "if\n", 1),
        Block("sh", "ci", "make coffee\n", 1),
        Block("python", "", "1 / 0\n", 1),
        Block("yaml", "w.yaml", "stages: {a: {stage: nothing}}\n", 1),
    ]:
        with pytest.raises(Exception, match=r".+"):
            carry_out(block, tmp_path)


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md"], ids=name_of)
def test_links_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)\s]+)\)", prose_of(page)):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{name_of(page)} links to {link}"
        if anchor:
            assert anchor in anchors_of(target), f"{name_of(page)} links to {link}"


def test_every_page_is_linked_from_the_first():
    seen: set[Path] = set()
    waiting = [ROOT / "docs" / "README.md"]
    while waiting:
        page = waiting.pop()
        if page not in seen:
            seen.add(page)
            links = re.findall(r"\]\(([^)\s#:]+\.md)", prose_of(page))
            waiting += [(page.parent / link).resolve() for link in links]
    assert {page for page in PAGES if page.name != "README.md"} <= seen


def test_pages_that_the_code_names_are_there():
    found = 0
    for file in [
        each for package in ("pipeline", "stages", "kernels") for each in (ROOT / package).rglob("*.py")
    ]:
        text = file.read_text(encoding="utf-8").replace("{PAGE}", "docs/troubleshooting.md")
        for path, anchor in re.findall(r"docs/([\w/-]+\.md)(?:#([\w-]+))?", text):
            page = ROOT / "docs" / path
            assert page.is_file(), f"{file} names docs/{path}"
            assert not anchor or anchor in anchors_of(page), f"{file} names docs/{path}#{anchor}"
            found += 1
    assert found >= 3


def test_generated_pages_are_current():
    assert renew() == [], f"run `{WRITE}`"


def test_stale_pages_are_written_and_removed(tmp_path):
    (tmp_path / "stages").mkdir()
    (tmp_path / "stages" / "gone.md").write_text("old")
    assert {"stages/gone.md", "stages/traverse.md"} <= {*renew(tmp_path), *renew(tmp_path, write=True)}
    assert renew(tmp_path) == []
    assert not (tmp_path / "stages" / "gone.md").exists()
    assert "`strategy`" in (tmp_path / "stages" / "traverse.md").read_text()
    assert "two_phase" in (tmp_path / "strategies.md").read_text()


def test_the_tutorial_of_own_stages_is_short():
    block = next(each for each in blocks_of(ROOT / "docs" / "own-stages.md") if each.mark == "my_stages.py")
    assert block.text.count("\n") < 60
