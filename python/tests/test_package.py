"""The package as it is installed: documentation that runs, stubs that agree, the command, the library to link."""
import ast
import contextlib
import doctest
import importlib.metadata
import inspect
import os
import pathlib
import re
import subprocess
import sys
import sysconfig

import numpy as np
import pytest
import torch

import restride
import restride._core
import restride.torch

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent.parent
PACKAGE = pathlib.Path(restride.__file__).parent
PUBLIC = {f"restride.{name}": getattr(restride, name) for name in restride.__all__}
PUBLIC |= {f"restride.torch.{name}": getattr(restride.torch, name) for name in restride.torch.__all__ if name not in ("MIN_BYTES", "OPERATORS")}
with contextlib.suppress(ImportError):
    import jax

    jax.config.update("jax_platforms", "cpu")
    import restride.jax

    PUBLIC |= {f"restride.jax.{name}": getattr(restride.jax, name) for name in restride.jax.__all__}
MODULES = {name: sys.modules[name] for name in ("restride", "restride.torch", "restride.jax") if name in sys.modules}
MEMBERS = {
    f"{name}.{member}": getattr(kind, member)
    for name, kind in PUBLIC.items()
    if inspect.isclass(kind)
    for member in dir(kind)
    if not member.startswith("_")
}


@pytest.mark.parametrize("name", [*MODULES, *PUBLIC, *MEMBERS])
def test_examples_in_docstrings_run(name):
    thing = {**PUBLIC, **MEMBERS, **MODULES}[name]
    names = {"restride": restride, "np": np, "torch": torch, "pathlib": pathlib}
    if "jax" in sys.modules:
        names |= {"jax": sys.modules["jax"], "jnp": sys.modules["jax"].numpy}
    tests = doctest.DocTestParser().get_doctest(inspect.getdoc(thing), names, name, None, 0)
    assert doctest.DocTestRunner().run(tests).failed == 0


@pytest.mark.parametrize("name", [n for n, f in PUBLIC.items() if not inspect.isclass(f)])
def test_every_function_says_whether_it_copies(name):
    doc = inspect.getdoc(PUBLIC[name])
    assert re.search(r"[Cc]opies", doc.split("\n\n")[0]), doc
    if "copies nothing" not in doc.lower():
        assert ">>>" in doc and "rrors" in doc and "ost" in doc or "as " in doc


def test_the_tutorial_runs(capsys):
    text = (REPOSITORY / "docs" / "python.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
    assert len(blocks) >= 8
    names = {}
    for block in blocks:
        exec(compile(block, "docs/python.md", "exec"), names)
    assert "of a plain copy" in capsys.readouterr().out


@pytest.mark.parametrize("example", sorted((REPOSITORY / "examples" / "python").glob("*.py")), ids=lambda path: path.stem)
def test_examples_run(example):
    framework = example.stem.partition("_")[0]
    pytest.importorskip(framework)
    ran = subprocess.run([sys.executable, example], capture_output=True, text=True)
    assert ran.returncode == 0 and ran.stdout, ran.stderr


def test_stubs_agree_with_the_module():
    tree = ast.parse((PACKAGE / "_core.pyi").read_text())
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            check_signature(node, getattr(restride._core, node.name))
        elif isinstance(node, ast.ClassDef):
            kind = getattr(restride._core, node.name)
            stubbed = {n.name for n in node.body if isinstance(n, ast.FunctionDef) and not n.name.startswith("__")}
            assert stubbed == {n for n in dir(kind) if not n.startswith("_")}
    defined = {n.name for n in tree.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
    assert defined == {n for n in dir(restride._core) if not n.startswith("__")}
    assert (PACKAGE / "py.typed").exists()


def check_signature(node, function):
    text = getattr(function, "__text_signature__", None)
    if text is None:  # an inner function
        return
    names = [a.arg for a in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]]
    assert names == list(inspect.signature(function).parameters), node.name


def test_the_module_needs_the_limited_api_only():
    module = PACKAGE / "_core.abi3.so"
    symbols = subprocess.run(["nm", "-D", "--undefined-only", module], capture_output=True, text=True).stdout
    used = set(re.findall(r"\b_?Py[A-Za-z_]+", symbols))
    inner = {name for name in used if name.startswith("_Py") and not name.endswith(("Struct", "_SizeT"))}
    assert "PyBuffer_Release" in used and inner <= {"_Py_Dealloc", "_Py_IncRef", "_Py_DecRef"}


def later_pythons():
    roots = [pathlib.Path("/usr/bin"), *pathlib.Path.home().glob(".pyenv/versions/*/bin")]
    return sorted({python for root in roots for python in root.glob("python3.1[0-9]")})


@pytest.mark.parametrize("python", later_pythons(), ids=str)
def test_other_versions_of_python_load_the_module(python):
    code = "import sys; sys.exit(77) if sys.version_info < (3, 11) else None\n"
    code += "import restride; y = bytearray(4); restride.copy(memoryview(y)[::-1], b'abcd'); assert y == b'dcba'"
    run = subprocess.run([python, "-I", "-c", f"import sys; sys.path.insert(0, {str(PACKAGE.parent)!r})\n{code}"])
    assert run.returncode in (0, 77)


def test_the_wheel_brings_the_command():
    command = pathlib.Path(sysconfig.get_path("scripts")) / "restride"
    said = subprocess.run([command, "--version"], capture_output=True, text=True, check=True).stdout
    assert importlib.metadata.version("restride") in said and restride.__version__ in said


def test_a_program_links_the_library(tmp_path):
    source = tmp_path / "main.c"
    source.write_text(
        "#include <restride/restride.h>\n#include <stdio.h>\nint main(void) { puts(restride_version()); return 0; }\n"
    )
    library = pathlib.Path(restride.get_library())
    compiler = os.environ.get("CC", "cc")
    command = [compiler, source, "-o", tmp_path / "main", "-I", restride.get_include(), library, f"-Wl,-rpath,{library.parent}"]
    subprocess.run(command, check=True)
    assert subprocess.run([tmp_path / "main"], capture_output=True, text=True).stdout.strip() == restride.__version__


def test_info_tells_the_machine():
    info = restride.info()
    assert info["version"] == restride.__version__ and info["cpu"].startswith("cpu")
    assert info["cuda"]["devices"] or info["cuda"]["reason"]
    assert "restride " in str(info) and info["library"] in str(info)


def test_the_source_distribution_holds_what_a_build_needs(tmp_path):
    pytest.importorskip("scikit_build_core")
    code = f"from scikit_build_core.build import build_sdist; print(build_sdist({str(tmp_path)!r}))"
    subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, check=True, capture_output=True)
    (archive,) = tmp_path.glob("*.tar.gz")
    import tarfile

    names = {"/".join(name.split("/")[1:]) for name in tarfile.open(archive).getnames()}
    listed = subprocess.run(["git", "ls-files"], cwd=REPOSITORY, capture_output=True, text=True)
    if listed.returncode != 0:
        pytest.skip("no git checkout")
    needed = [n for n in listed.stdout.split() if n.startswith(("src/", "include/", "tools/", "cmake/", "lab/", "python/restride", "python/src"))]  # fmt: skip
    assert not set(needed) - names and {"CMakeLists.txt", "pyproject.toml", "README.md", "LICENSE"} <= names
    assert not [n for n in names if n.startswith(("build/", ".venv/", "tests/"))]
    assert archive.stat().st_size < 3_000_000
