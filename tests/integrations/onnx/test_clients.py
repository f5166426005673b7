"""The example clients, in Python and in JavaScript, give the verdicts that gditd gives."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from gditd.integrations.onnx import export_onnx
from tests.integrations.onnx.runs import onnxruntime  # noqa: F401 - skips where it is missing
from tests.raw_tables import mixed_table, quick

pytestmark = pytest.mark.filterwarnings("ignore")  # of small classes, which are what is wanted here

EXAMPLES = Path(__file__).parents[3] / "examples"
NODE_MODULES = "GDITD_NODE_MODULES"


@pytest.fixture(scope="module")
def model():
    return quick().fit(*mixed_table((70, 90, 130)))


@pytest.fixture(scope="module")
def rows():
    """Rows with gaps, a category never seen and a stranger, as JSON has them."""
    frame, _ = mixed_table((40, 40, 40), seed=1)
    frame["day"] = frame["day"].dt.strftime("%Y-%m-%dT%H:%M:%S")
    frame = frame.astype(object).where(frame.notna(), None)
    frame.loc[0, "region"] = "atlantis"
    frame.loc[1, "amount"] = 900.0
    frame.loc[2, ["amount", "day", "member"]] = None
    return frame


@pytest.fixture(scope="module")
def folder(tmp_path_factory, model, rows):
    folder = tmp_path_factory.mktemp("onnx")
    export_onnx(model, folder / "model.onnx")
    export_onnx(model, folder / "with-alpha.onnx", require_alpha=True)
    rows.to_json(folder / "rows.json", orient="records")
    rows.to_csv(folder / "rows.csv", index=False)
    return folder


def verdicts_of(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return pd.DataFrame(json.loads(done.stdout))


def assert_as_gditd_says(found, model, rows, alpha=None):
    expected = model.verdict(rows, alpha)
    assert found["verdict"].tolist() == expected["verdict"].tolist()
    assert found["known_class"].tolist() == expected["known_class"].tolist()
    np.testing.assert_allclose(found["p_value"], expected["p_value"], atol=0.05)
    np.testing.assert_allclose(found["ood_score"], expected["ood_score"], rtol=1e-4, atol=1e-5)
    assert "OOD" in found["verdict"].tolist()


@pytest.mark.parametrize("name", ["rows.json", "rows.csv"])
def test_python(folder, model, rows, name):
    client = [sys.executable, EXAMPLES / "onnx_client.py"]
    assert_as_gditd_says(verdicts_of(*client, folder / "model.onnx", folder / name), model, rows)
    found = verdicts_of(*client, folder / "model.onnx", folder / name, 0.2)
    assert_as_gditd_says(found, model, rows, alpha=0.2)
    assert_as_gditd_says(verdicts_of(*client, folder / "with-alpha.onnx", folder / name, 0.2), model, rows, alpha=0.2)


def test_the_client_needs_no_gditd(folder):
    """What it imports does not bring gditd or torch along."""
    code = f"import runpy, sys; sys.argv = ['', {str(folder / 'model.onnx')!r}, {str(folder / 'rows.json')!r}]; "
    code += f"runpy.run_path({str(EXAMPLES / 'onnx_client.py')!r}, run_name='__main__'); "
    code += "assert not {'gditd', 'torch', 'sklearn'} & set(sys.modules)"
    verdicts_of(sys.executable, "-c", code)


@pytest.fixture
def javascript(folder):
    """The client beside the packages it imports."""
    if shutil.which("node") is None:
        pytest.skip("needs node on the PATH")
    modules = os.environ.get(NODE_MODULES)
    if not modules or not (Path(modules) / "onnxruntime-node").is_dir():
        pytest.skip(f"needs npm install onnxruntime-node, and {NODE_MODULES} to name the folder node_modules with it")
    if not (folder / "node_modules").exists():
        (folder / "node_modules").symlink_to(Path(modules).absolute())
    return ["node", shutil.copy(EXAMPLES / "onnx_client.mjs", folder)]


def test_javascript(folder, model, rows, javascript):
    assert_as_gditd_says(verdicts_of(*javascript, folder / "model.onnx", folder / "rows.json"), model, rows)
    for alpha in (0.05, 0.2):
        found = verdicts_of(*javascript, folder / "with-alpha.onnx", folder / "rows.json", alpha)
        assert_as_gditd_says(found, model, rows, alpha)


def test_javascript_does_not_ignore_an_alpha(folder, javascript):
    command = [*javascript, folder / "model.onnx", folder / "rows.json", "0.2"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "--require-alpha" in done.stderr
