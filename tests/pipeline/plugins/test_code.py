"""The code that a plugin's recipe counts: its own, that of helpers, and what it imports."""

from __future__ import annotations

import importlib
import shutil
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

from gravel.pipeline.plugins.code import file_code


def test_code_of_helpers_counts_unless_it_is_installed(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    helper = tmp_path / "helper_of_plugins.py"
    helper.write_text("from helper_below import x\n")
    (tmp_path / "helper_below.py").write_text("x = 1\n")
    text = b"import numpy\nfrom helper_of_plugins import x\n"
    first = file_code(text)
    assert file_code(text + b"# a comment\n") == first
    helper.write_text("from helper_below import x\n\ny = 2\n")
    second = file_code(text)
    assert second != first
    (tmp_path / "site-packages").mkdir()
    distribution(tmp_path / "site-packages", "helpers", "1.2", helper.name)
    helper.rename(tmp_path / "site-packages" / helper.name)
    monkeypatch.syspath_prepend(str(tmp_path / "site-packages"))
    importlib.invalidate_caches()
    installed = file_code(text)
    (tmp_path / "site-packages" / helper.name).write_text("y = 3\n")
    assert installed == file_code(text) != second


def distribution(folder: Path, name: str, version: str, *files: str) -> None:
    """Install a distribution that says it holds these files."""
    for old in folder.glob(f"{name}-*.dist-info"):
        shutil.rmtree(old)
    info = folder / f"{name}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "RECORD").write_text("".join(f"{file},sha256=x,1\n" for file in files))


@pytest.mark.parametrize("module", ["numpy", "scipy", "other_name_of_it", "compiled_with_it"])
def test_an_update_of_a_distribution_that_a_plugin_imports_counts(module, tmp_path, monkeypatch):
    installed = tmp_path / "site-packages"
    (installed / module).mkdir(parents=True)
    (installed / module / "__init__.py").touch()
    name = {"other_name_of_it": "Its-Name", "compiled_with_it": "its_name"}.get(module, module)
    file = f"{module}/__init__.py"
    if module == "compiled_with_it":
        shutil.rmtree(installed / module)
        file = f"{module}{EXTENSION_SUFFIXES[0]}"
        (installed / file).write_bytes(b"machine code")
    monkeypatch.syspath_prepend(str(installed))
    text = f"def run():\n    import {module}\n".encode()
    digests = []
    for version in ("1.0", "1.1", "1.0"):
        distribution(installed, name, version, file)
        importlib.invalidate_caches()
        digests.append(file_code(text))
    assert digests[0] != digests[1]
    assert digests[0] == digests[2]


def test_a_compiled_module_that_is_not_installed_counts_by_its_bytes(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    alone = tmp_path / f"quick_parts{EXTENSION_SUFFIXES[0]}"
    inner = tmp_path / "own_parts" / f"quick{EXTENSION_SUFFIXES[0]}"
    inner.parent.mkdir()
    (inner.parent / "__init__.py").write_text("from . import quick\n")
    for file, text in ((alone, b"import quick_parts\n"), (inner, b"import own_parts\n")):
        digests = []
        for content in (b"machine code", b"other code", b"machine code"):
            file.write_bytes(content)
            importlib.invalidate_caches()
            digests.append(file_code(text))
        assert digests[0] != digests[1], file
        assert digests[0] == digests[2], file


def test_modules_that_a_helper_imports_count_too(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "first_helper").mkdir()
    (tmp_path / "first_helper" / "__init__.py").write_text("from .part import x\n")
    part, second = tmp_path / "first_helper" / "part.py", tmp_path / "second_helper.py"
    part.write_text("from second_helper import x\n")
    second.write_text("x = 1\n")
    before = file_code(b"import first_helper\n")
    second.write_text("x = 2\n")
    after = file_code(b"import first_helper\n")
    part.write_text("from second_helper import x\ny = 1\n")
    assert len({before, after, file_code(b"import first_helper\n")}) == 3


def test_what_a_plugin_takes_from_gravel_counts():
    alone, with_kernels = file_code(b"import numpy\n"), file_code(b"from gravel.kernels.csr import rows\n")
    assert alone != with_kernels != file_code(b"from gravel.kernels.jit import serial\n")
