"""Model files that are damaged, cut, made up or hostile: refused with a reason, at once, and without filling memory."""

from __future__ import annotations

import copy
import json
import struct
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import gditd
from gditd import GDITDClassifier, ModelFileError
from gditd.model_file.container import LARGEST_FILE, LARGEST_HEADER, header_length
from gditd.model_file.seal import seal
from gditd.privacy import privacy_document
from tests.cli.conftest import invoke
from tests.robustness.model_bytes import MAKERS, Tensors, contents, model_bytes, sealed, strange_rows
from tests.robustness.outcomes import answer_or_refusal
from tests.robustness.torture import TORTURE, tries

KINDS = list(MAKERS)
ALL_KINDS = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models") / "model.gditd"


def refusal(path: Path, content: bytes) -> str:
    """What is said of a file that must be refused."""
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=r"^cannot load \S+: \S.*") as caught:
        gditd.load(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def use(path: Path) -> str | None:
    """Load and do all that a model can do; whatever comes must be an answer or a refusal."""
    model = answer_or_refusal(lambda: gditd.load(path))
    if isinstance(model, str):
        return model
    if not isinstance(model, GDITDClassifier):
        return answer_or_refusal(lambda: str(model.ood_score(np.zeros((2, model.n_features_in_)))))
    rows = strange_rows()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.set_params(on_error="ood")
        for work in (
            lambda: model.verdict(rows),
            lambda: [str(explanation) for explanation in model.explain(rows)],
            lambda: json.dumps(model.summary()),
            lambda: json.dumps(privacy_document(model)),
        ):
            answer_or_refusal(work)
    return None


class TestDamage:
    @tries(60, 20_000)
    @given(kind=st.sampled_from(KINDS), place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
    def test_a_flipped_bit_anywhere(self, path: Path, kind: str, place: float, bit: int) -> None:
        content = bytearray(model_bytes(kind))
        content[int(place * len(content))] ^= 1 << bit
        refusal(path, bytes(content))

    @ALL_KINDS
    def test_every_bit_of_the_head(self, path: Path, kind: str) -> None:
        """The length, the slots of the seal, format and version: what is read before the checksum is."""
        content = model_bytes(kind)
        end = content.index(b'"document"') + 20
        for place in range(0, end, 1 if TORTURE else 7):
            for bit in range(8) if TORTURE else (place % 8,):
                damaged = bytearray(content)
                damaged[place] ^= 1 << bit
                refusal(path, bytes(damaged))

    @ALL_KINDS
    def test_cut_at_every_kilobyte(self, path: Path, kind: str) -> None:
        content = model_bytes(kind)
        for length in range(0, len(content), 1024 if TORTURE else 16 * 1024):
            refusal(path, content[:length])

    @tries(30, 5_000)
    @given(kind=st.sampled_from(KINDS), first=st.floats(0, 1), last=st.floats(0, 1), by=st.binary(max_size=64))
    def test_a_piece_replaced(self, path: Path, kind: str, first: float, last: float, by: bytes) -> None:
        content = model_bytes(kind)
        start, end = sorted((int(first * len(content)), int(last * len(content))))
        damaged = content[:start] + by + content[end:]
        if damaged != content:
            refusal(path, damaged)

    @tries(40, 20_000)
    @given(content=st.binary(max_size=4096))
    def test_any_bytes(self, path: Path, content: bytes) -> None:
        refusal(path, content)

    def test_the_command_line_says_it_in_a_line(self, path: Path, tmp_path: Path) -> None:
        content = bytearray(model_bytes("fast"))
        content[-1] ^= 1
        path.write_bytes(content)
        result = invoke("predict", path, tmp_path / "none.csv", "--out", tmp_path / "out.csv")
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr.startswith(
            f"error: cannot load {path}: it is damaged: its content does not fit its checksum"
        )
        assert result.stderr.count("\n") == 1
        assert not list(tmp_path.iterdir())


def with_header(header: bytes, body: bytes = b"", length: int | None = None) -> bytes:
    return struct.pack("<Q", len(header) if length is None else length) + header + body


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)


class TestHostileHeaders:
    @tries(40, 20_000)
    @given(header=JSON)
    def test_any_json(self, path: Path, header: Any) -> None:
        refusal(path, with_header(json.dumps(header).encode()))

    @tries(40, 20_000)
    @given(metadata=JSON, document=JSON)
    def test_any_metadata_and_document(self, path: Path, metadata: Any, document: Any) -> None:
        refusal(path, with_header(json.dumps({"__metadata__": metadata}).encode()))
        refusal(path, sealed(document, {}))

    @pytest.mark.parametrize("opening", [b"[", b'{"a":', b'{"__metadata__":{"a":', b'[{"b":'])
    def test_deep_json(self, path: Path, opening: bytes) -> None:
        refusal(path, with_header(opening * 200_000))
        refusal(path, sealed((opening * 200_000).decode(), {}))

    @pytest.mark.parametrize("length", [0, 1, 2**31, 2**32, 2**63 - 1, 2**63, 2**64 - 1])
    def test_lengths_that_lie(self, path: Path, length: int) -> None:
        content = model_bytes("fast")
        refusal(path, struct.pack("<Q", length) + content[8:])

    def test_a_header_too_large(self, path: Path) -> None:
        assert "header has" in refusal(path, with_header(b" " * (LARGEST_HEADER + 1)))

    def test_a_file_too_large_is_not_read(self, path: Path) -> None:
        path.unlink(missing_ok=True)
        with path.open("wb") as file:
            file.truncate(LARGEST_FILE + 1)  # takes no room on the disk
        started = time.monotonic()
        with pytest.raises(ModelFileError, match="a model has up to"):
            gditd.load(path)
        assert time.monotonic() - started < 1
        path.unlink()

    @pytest.mark.parametrize(
        "entry",
        [
            {"data_offsets": [0, 2**62]},
            {"data_offsets": [-8, 0]},
            {"data_offsets": [8, 0]},
            {"data_offsets": [4, 4]},
            {"shape": [2**40, 2**40]},
            {"shape": [-1]},
            {"shape": [2**62], "dtype": "F64"},
            {"dtype": "F128"},
            {"dtype": "BOOL"},
            {"dtype": None},
            {"shape": None},
            {"shape": []},
        ],
        ids=repr,
    )
    def test_sizes_that_lie(self, path: Path, entry: dict[str, Any]) -> None:
        """With a checksum that fits: the tensors' own sizes must be checked against what is there."""
        content = model_bytes("network")
        end = 8 + header_length(content)
        header = json.loads(content[8:end])
        name = next(name for name in header if name != "__metadata__")
        header[name] |= entry
        text = json.dumps(header, separators=(",", ":")).encode()
        made = bytearray(with_header(text, content[end:]))
        seal(made)
        refusal(path, bytes(made))


def places_in(value: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to every value in a document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    below = [found for key, item in inner for found in places_in(item, (*place, key))]
    return ([place] if place else []) + below


def put(document: Any, place: tuple[Any, ...], value: Any) -> None:
    *way, last = place
    for key in way:
        document = document[key]
    document[last] = value


ODD_VALUES = st.sampled_from(
    [
        *(None, True, 0, -1, 1, 2, 10**6, 10**12, 10**400, 1.5, -0.0, 1e308, float("nan"), float("inf")),
        *("", "x", "OOD", "a" * 300, "\ud800", "\0", [], {}, [None], ["x"], [[]], {"a": 1}),
    ]
)


def holdable(value: float, dtype: torch.dtype) -> float:
    """The value, or the nearest one that a type of whole numbers can hold."""
    if dtype.is_floating_point or dtype == torch.bool:
        return value
    limits = torch.iinfo(dtype)
    return min(max(value, limits.min), limits.max)


def changed(tensor: torch.Tensor, how: str, place: float) -> torch.Tensor:
    """A tensor with one thing wrong."""
    if how in ("nan", "inf", "huge", "negative", "large") and tensor.numel():
        value = {"nan": float("nan"), "inf": float("inf"), "huge": 1e38, "negative": -5, "large": 2**30}[how]
        wild = tensor.clone()
        if tensor.is_floating_point() or how in ("negative", "large"):
            wild.view(-1)[int(place * tensor.numel())] = holdable(value, tensor.dtype)
        return wild
    types = [torch.float64, torch.float32, torch.int64, torch.int32, torch.uint8, torch.bool, torch.float16]
    changes: dict[str, Callable[[], torch.Tensor]] = {
        "zeros": lambda: torch.zeros_like(tensor),
        "cut": lambda: tensor[:-1].clone() if tensor.ndim else tensor,
        "empty": lambda: tensor[:0].clone() if tensor.ndim else tensor,
        "doubled": lambda: torch.cat([tensor, tensor]) if tensor.ndim else tensor,
        "flat": lambda: tensor.flatten().clone(),
        "turned": lambda: tensor.mT.contiguous() if tensor.ndim > 1 else tensor,
        "type": lambda: tensor.to(types[int(place * len(types))]),
    }
    return changes.get(how, lambda: tensor)()


HOW = st.sampled_from(
    ["nan", "inf", "huge", "negative", "large", "zeros", "cut", "empty", "doubled", "flat", "turned", "type"]
)
PLACE = st.floats(0, 1, exclude_max=True)


class TestMadeUpContents:
    """A right checksum over contents that no fit can have led to."""

    @tries(80, 10_000)
    @given(kind=st.sampled_from(KINDS), place=PLACE, value=ODD_VALUES)
    def test_documents(self, path: Path, kind: str, place: float, value: Any) -> None:
        document, tensors = contents(kind)
        document = copy.deepcopy(document)
        ways = places_in(document)
        put(document, ways[int(place * len(ways))], value)
        path.write_bytes(sealed(document, tensors))
        use(path)

    @tries(40, 5_000)
    @given(kind=st.sampled_from(KINDS), place=PLACE, other=PLACE)
    def test_parts_of_documents_in_the_wrong_place(self, path: Path, kind: str, place: float, other: float) -> None:
        document, tensors = contents(kind)
        ways = places_in(document)
        taken: Any = document
        for key in ways[int(other * len(ways))]:
            taken = taken[key]
        document = copy.deepcopy(document)
        put(document, ways[int(place * len(ways))], copy.deepcopy(taken))
        path.write_bytes(sealed(document, tensors))
        use(path)

    @tries(80, 10_000)
    @given(kind=st.sampled_from(KINDS), which=PLACE, how=HOW, place=PLACE)
    def test_tensors(self, path: Path, kind: str, which: float, how: str, place: float) -> None:
        document, tensors = contents(kind)
        name = list(tensors)[int(which * len(tensors))]
        path.write_bytes(sealed(document, tensors | {name: changed(tensors[name], how, place)}))
        use(path)


# --- every case that ever broke: what it did before it was refused ---


def wide_labels(document: Any, _: Tensors) -> None:
    document["classes"] = {"dtype": "<U10000", "values": [str(label) for label in range(200_000)]}  # 8 GB


def many_classes(document: Any, _: Tensors) -> None:
    document["classes"] = {"dtype": "<i8", "values": list(range(1_000_000))}  # a head of 0.5 GB


def many_columns(document: Any, tensors: Tensors) -> None:
    document["n_features"] = 1_000_000  # a network of 0.5 GB
    tensors |= {"mean": torch.zeros(10**6, dtype=torch.float64), "scale": torch.ones(10**6, dtype=torch.float64)}


def many_date_parts(document: Any, _: Tensors) -> None:
    document["learned"]["encoder"]["parts"]["day"] = ["time of day"] * 500_000  # 46 GB


def far_bin(_: Any, tensors: Tensors) -> None:
    tensors["encoder.columns"] = tensors["encoder.columns"].clone()
    tensors["encoder.columns"][-1] = 10**9  # 8 GB


def many_categories(document: Any, _: Tensors) -> None:
    column = next(c for c in document["learned"]["encoder"]["schema"]["columns"] if c["kind"] == "category")
    column |= {"categories": [[f"c{i}", 1] for i in range(10_000)], "n_categories": 10_000}
    document["learned"]["encoder"]["max_categories"] = 10**9


def many_category_columns(document: Any, _: Tensors) -> None:
    made = {"kind": "category", "categories": [["a", 1], ["b", 1]], "n_categories": 2}
    columns = [{"name": f"made {number}", **made} for number in range(30_000)]
    document["learned"]["encoder"]["schema"]["columns"] += columns  # of 200,000 of them: minutes


def deep_examples(_: Any, tensors: Tensors) -> None:
    tensors["explainer.examples.rows"] = torch.frombuffer(bytearray(b'{"columns":' + b"[" * 10**6), dtype=torch.uint8)


def circle_between_numbers(_: Any, tensors: Tensors) -> None:
    """As a fraction the child lies behind its parent, as a whole number it is the parent: an endless walk."""
    name = next(name for name in tensors if name.endswith((".left", "left_child")))
    nodes = tensors[name].double()
    inner = int((nodes > 1).nonzero()[0])
    nodes[inner] = inner + 0.5
    tensors[name] = nodes


def forest_of_more_columns(_: Any, tensors: Tensors) -> None:
    """Compiled trees would read behind the end of a row."""
    tensors["fusion.view.mixed-forest.n_features"] = torch.tensor([10**6])
    tensors["fusion.view.mixed-forest.feature"] = torch.full_like(
        tensors["fusion.view.mixed-forest.feature"], 10**6 - 1
    )


def half_a_quantile(_: Any, tensors: Tensors) -> None:
    tensors["explainer.quantiles"] = tensors["explainer.quantiles"].clone()
    tensors["explainer.quantiles"][:, :, 1] = float("nan")  # no date from a NaN


def text_for_a_number(document: Any, _: Tensors) -> None:
    document["learned"]["encoder"]["schema"]["columns"][0]["minimum"] = "low"  # a traceback from inspect


def alpha_that_is_a_text(document: Any, _: Tensors) -> None:
    document["parameters"]["alpha"] = "0.05"  # a traceback from predict


def settings_of_the_run(document: Any, _: Tensors) -> None:
    document["parameters"]["device"] = "cuda:7"


def uncalibrated(document: Any, _: Tensors) -> None:
    document["parameters"] |= {"preset": "default", "numbers": None}  # NaN for p-values


def class_named_ood(document: Any, _: Tensors) -> None:
    document["classes"]["values"][0] = "OOD"


BROKE = [
    ("network", wide_labels),
    ("network", many_classes),
    ("fast", many_classes),
    ("network", many_columns),
    ("fast", many_date_parts),
    ("paper", far_bin),
    ("fast", many_categories),
    ("fast", many_category_columns),
    ("fast", deep_examples),
    ("fast", circle_between_numbers),
    ("forest", circle_between_numbers),
    ("fast", forest_of_more_columns),
    ("fast", half_a_quantile),
    ("fast", text_for_a_number),
    ("fast", alpha_that_is_a_text),
    ("fast", settings_of_the_run),
    ("paper", uncalibrated),
    ("fast", class_named_ood),
]

LOAD_IN_LITTLE_MEMORY = """
import resource, sys, time
import gditd, gditd.classifier, gditd.detectors, torch
def used():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
gditd.load(sys.argv[1])
before = used()
for path in sys.argv[2:]:
    started = time.monotonic()
    try:
        gditd.load(path)
        print("loaded", path)
    except gditd.ModelFileError:
        pass
    if time.monotonic() - started > 15:
        print("slow", path)
print("megabytes", used() - before)
"""


class TestWhatBroke:
    @pytest.mark.parametrize(("kind", "alter"), BROKE, ids=lambda part: getattr(part, "__name__", part))
    def test_is_refused(self, path: Path, kind: str, alter: Callable[[Any, Tensors], None]) -> None:
        refusal(path, self.made(kind, alter))

    def test_and_takes_neither_time_nor_memory(self, tmp_path: Path) -> None:
        """In a process of its own, which can tell how much memory it ever had; the largest file has 20 MB."""
        (tmp_path / "sound.gditd").write_bytes(model_bytes("fast"))
        paths = []
        for number, (kind, alter) in enumerate(BROKE):
            paths.append(tmp_path / f"{number}.gditd")
            paths[-1].write_bytes(self.made(kind, alter))
        done = subprocess.run(
            [sys.executable, "-c", LOAD_IN_LITTLE_MEMORY, str(tmp_path / "sound.gditd"), *map(str, paths)],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        *odd, last = done.stdout.splitlines()
        assert not odd
        assert int(last.removeprefix("megabytes ")) < 500

    @staticmethod
    def made(kind: str, alter: Callable[[Any, Tensors], None]) -> bytes:
        document, tensors = contents(kind)
        document = copy.deepcopy(document)
        alter(document, tensors)
        return sealed(document, tensors)
