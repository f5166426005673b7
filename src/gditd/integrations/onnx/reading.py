"""What an exported file says about itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import onnx

from gditd.integrations.onnx.builder import ML
from gditd.integrations.onnx.model import ALPHA


def described_file(path: Path) -> dict[str, Any]:
    """Opsets, producer, columns, outputs, classes and alpha of an exported model, for JSON."""
    model = onnx.load(path)
    facts = {entry.key: entry.value for entry in model.metadata_props}
    opsets = {opset.domain: opset.version for opset in model.opset_import}
    numbers = facts["numbers"]
    has_default = any(constant.name == ALPHA for constant in model.graph.initializer)
    return {
        "producer": f"{model.producer_name} {model.producer_version}",
        "opset": opsets[""],
        "ml_opset": opsets[ML],
        "alpha": float(facts["alpha"]),
        "alpha_input": f"alpha ({numbers}; {facts['alpha']} where it is not given)"
        if has_default
        else f"alpha ({numbers})",
        "columns": json.loads(facts["columns"]),
        "outputs": json.loads(facts["outputs"]),
        "classes": json.loads(facts["classes"]),
    }
