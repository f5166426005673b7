"""A model file cannot run code: nothing that could is imported by what reads it, and loading works without it."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import gditd
from tests.robustness.model_bytes import MAKERS, model_bytes

SOURCES = sorted(Path(gditd.__file__).parent.rglob("*.py"))
# Processes that the program starts itself send each other tasks; no file is read there.
BETWEEN_OWN_PROCESSES = {"crew.py"}
FORBIDDEN_MODULES = {"pickle", "cPickle", "_pickle", "dill", "cloudpickle", "marshal", "shelve", "yaml"}
FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__"}
FORBIDDEN_NAMES = {
    *(("torch", "load"), ("np", "load"), ("numpy", "load"), ("joblib", "load")),
    *(("pd", "read_pickle"), ("pandas", "read_pickle")),
}


def offences(tree: ast.AST) -> list[str]:
    """Imports and calls by which a file's content could become code."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if alias.name.split(".")[0] in FORBIDDEN_MODULES]
        elif isinstance(node, ast.ImportFrom):
            home = (node.module or "").split(".")[0]
            found += [home] if home in FORBIDDEN_MODULES else []
            found += [alias.name for alias in node.names if (home, alias.name) in FORBIDDEN_NAMES]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in FORBIDDEN_CALLS:
            found.append(node.func.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            found += [node.attr] if (node.value.id, node.attr) in FORBIDDEN_NAMES else []
        elif isinstance(node, ast.keyword) and node.arg in ("allow_pickle", "weights_only"):
            found.append(node.arg)
    return found


@pytest.mark.parametrize(
    "path", [path for path in SOURCES if path.name not in BETWEEN_OWN_PROCESSES], ids=lambda path: path.name
)
def test_no_source_file_unpickles_or_evaluates(path):
    assert offences(ast.parse(path.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize(
    "code", ["import pickle", "from joblib import load", "torch.load(f)", "np.load(f, allow_pickle=True)", "eval(x)"]
)
def test_offences_are_found(code):
    assert offences(ast.parse(code))


WITHOUT_PICKLE = """
import pickle, _pickle, sys
# What they import may use pickle meanwhile: compiled loops come from beside their source, as .pyc files do.
import gditd, gditd.classifier, gditd.detectors
import gditd.views.entropy, gditd.views.nearest, gditd.views.questions, gditd.views.walk
def refuse(*args, **kwargs):
    raise SystemExit("something was unpickled")
for module in (pickle, _pickle):
    for name in ("load", "loads", "Unpickler", "_load", "_loads", "_Unpickler"):
        if hasattr(module, name):
            setattr(module, name, refuse)
import torch
torch.load = refuse
for path in sys.argv[1:]:
    model = gditd.load(path)
assert "gditd.crew" not in sys.modules
print("loaded", len(sys.argv) - 1)
"""


def test_loading_works_where_pickle_is_disabled(tmp_path):
    for kind in MAKERS:
        (tmp_path / f"{kind}.gditd").write_bytes(model_bytes(kind))
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_PICKLE, *map(str, tmp_path.iterdir())],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.stdout.strip(), done.returncode) == (f"loaded {len(MAKERS)}", 0), done.stderr
