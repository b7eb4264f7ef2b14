from __future__ import annotations

from pathlib import Path

import pytest

from gravel.kernels.strategy import strategies_in
from gravel.pipeline.core.files import ROOT
from gravel.pipeline.plugins.code import Sources, cuda_digest, python_digest
from tests.kernels.tree_copy import link_packages
from tests.pipeline.fingerprint import ACCEPT, Fingerprint, compare, current, read, write

FILES = {
    "stages/__init__.py": "",
    "stages/search.py": '"""A stage."""\nfrom gravel.kernels.walk import choose\n\nSIZE = 3\n',
    "stages/other.py": "from gravel.stages.shared import thing\n",
    "stages/shared.py": "thing = 1\n",
    "stages/stage.py": (
        "from importlib import import_module\nnames = [import_module(f'gravel.stages.{n}') for n in ()]\n"
    ),
    "kernels/__init__.py": "",
    "kernels/registry.py": "def strategies_in(package):\n    return package\n",
    "kernels/walk/__init__.py": (
        "from gravel.kernels.registry import strategies_in\n\n"
        "def choose():\n    import gravel.kernels.lazy\n    return strategies_in('gravel.kernels.walk')\n"
    ),
    "kernels/walk/fast.py": (
        'CPU = "gravel.kernels.walk.inner.fast_cpu:prepare"\n'
        'CUDA = "gravel.kernels.walk.inner.fast_cuda:prepare"\n'
    ),
    "kernels/walk/inner/__init__.py": "",
    "kernels/walk/inner/fast_cpu.py": "def prepare():\n    return 1\n",
    "kernels/walk/inner/fast_cuda.py": 'def prepare(load):\n    return load("kernels/walk/fast.cu")\n',
    "kernels/walk/fast.cu": '#include "kernels/walk/fast.cuh"\nint f(int a) { return a; }\n',
    "kernels/walk/fast.cuh": "#define STEP 4\n",
    "kernels/lazy.py": (
        "from importlib import import_module\n\n"
        "def order(m):\n    return import_module(f'gravel.kernels.orders.{m}')\n"
    ),
    "kernels/orders/__init__.py": "",
    "kernels/orders/degree.py": "order = 1\n",
    "kernels/unused.py": "unused = 1\n",
}


@pytest.fixture
def tree(tmp_path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    link_packages(tmp_path)
    return tmp_path


def test_everything_that_a_stage_leads_to_is_found(tree):
    walk = ("walk", "walk.fast", "walk.inner", "walk.inner.fast_cpu", "walk.inner.fast_cuda")
    kernels = [f"gravel.kernels.{name}" for name in ("lazy", "orders", "orders.degree", "registry", *walk)]
    code = ["gravel.stages", "gravel.stages.search", "kernels/walk/fast.cu", "kernels/walk/fast.cuh"]
    assert Sources(tree).closure("gravel.stages.search") == ["gravel.kernels", *kernels, *code]
    others = ["gravel.stages", "gravel.stages.other", "gravel.stages.shared"]
    assert Sources(tree).closure("gravel.stages.other") == others
    # The list of all stages is no reason to depend on all of them.
    assert Sources(tree).closure("gravel.stages.stage") == ["gravel.stages", "gravel.stages.stage"]


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("stages/search.py", "SIZE = 3", "SIZE = 4"),
        ("kernels/walk/inner/fast_cpu.py", "return 1", "return 2"),
        ("kernels/walk/fast.cu", "return a;", "return a + 1;"),
        ("kernels/walk/fast.cuh", "STEP 4", "STEP 8"),
        ("kernels/orders/degree.py", "1", "2"),
        ("kernels/registry.py", "return package", "return package, 1"),
    ],
)
def test_a_change_of_code_changes_the_fingerprint(tree, name, old, new):
    before = Sources(tree).digest("gravel.stages.search"), Sources(tree).digest("gravel.stages.other")
    path = tree / name
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    assert Sources(tree).digest("gravel.stages.search") != before[0]
    assert Sources(tree).digest("gravel.stages.other") == before[1]


def test_a_new_strategy_changes_it_and_what_is_not_used_does_not(tree):
    before = Sources(tree).digest("gravel.stages.search")
    (tree / "kernels" / "unused.py").write_text("unused = 2\n")
    assert Sources(tree).digest("gravel.stages.search") == before
    (tree / "kernels" / "walk" / "new.py").write_text("x = 1\n")
    assert Sources(tree).digest("gravel.stages.search") != before


def test_cosmetic_changes_of_python_do_not_count():
    base = "def f(a, b=1):\n    return [a, b]\n\nclass A:\n    x: int = 1\n"
    same = (
        '"""About."""\n# Why.\ndef f(\n    a,\n    b = 1,  # one\n):\n    """Add."""\n    return [a,\n'
        '      b]\nclass A:\n    "Doc."\n    x: int = 1\n    """About x."""\n'
    )
    assert python_digest(base) == python_digest(same)
    for changed in (
        base.replace("b=1", "b=1.0"),
        base.replace("[a, b]", "(a, b)"),
        base.replace("x: int = 1", "x: int = None"),
        base.replace("[a, b]", "['a', b]"),
        base.replace("return [a, b]", "[a, b]"),
    ):
        assert python_digest(changed) != python_digest(base)


def test_cosmetic_changes_of_cuda_do_not_count():
    base = (
        "#define N 4\n__global__ void f(int *a) { a[0] = N; /* x */ }\n"
        'char c = \'"\'; // "\nconst char *s = "// a";\n'
    )
    same = (
        "// A banner.\n#define  N  4\n\n__global__ void f(int* a)\n{\n    a[0]=N;\n}\n"
        'char c = \'"\';\nconst char* s = "// a";\n'
    )
    assert cuda_digest(base) == cuda_digest(same)
    for old, new in [("N 4", "N 5"), ("a[0]", "a[1]"), ('"// a"', '"// b"'), ("int *a", "inta")]:
        assert cuda_digest(base.replace(old, new)) != cuda_digest(base)
    assert cuda_digest("int a;\n#define X\nint b;") != cuda_digest("int a; int b;\n#define X")
    assert cuda_digest("// variants T: a b\nint a;") != cuda_digest("// variants T: a\nint a;")


def test_each_kind_of_difference_is_told_with_the_cure():
    stored = dict.fromkeys(("same", "changed", "raised", "gone"), Fingerprint(1, "a"))
    now = dict.fromkeys(("same", "new"), Fingerprint(1, "a"))
    now |= {"changed": Fingerprint(1, "b"), "raised": Fingerprint(2, "b")}
    faults = compare(stored, now)
    assert len(faults) == 4
    assert all(ACCEPT in fault for fault in faults)
    (changed,) = (fault for fault in faults if "stage changed" in fault)
    assert "Raise `version`" in changed
    assert compare(now, now) == []


def test_what_is_stored_is_read_again_without_the_stages_that_went(tmp_path):
    write({"a": Fingerprint(3, "x"), "b": Fingerprint(1, "y")}, tmp_path)
    write({"a": Fingerprint(4, "z")}, tmp_path)
    assert read(tmp_path) == {"a": Fingerprint(4, "z")}


@pytest.fixture(scope="module")
def under_traverse():
    """Give the modules and files that the stage rests on."""
    return set(Sources(ROOT).closure("gravel.stages.traverse"))


@pytest.mark.parametrize(
    "package", ["gravel.kernels.bfs", "gravel.kernels.components", "gravel.kernels.sssp"]
)
def test_traverse_rests_on_the_code_of_every_strategy(package, under_traverse):
    for strategy in strategies_in(package).values():
        modules = {each.partition(":")[0] for each in (strategy.cpu, strategy.cuda) if each}
        assert modules <= under_traverse, strategy.name


def test_versions_are_honest():
    faults = compare(read(), current())
    assert not faults, "\n".join(faults)
