"""NSL-KDD: network connections, normal or one of 39 attacks in four families."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gditd.datasets.base import DataFolder, Dataset, Sources
from gditd.datasets.labels import ClassCounts, verify_counts
from gditd.datasets.publication import Publication, RawFile
from gditd.datasets.text import check_fields, parse_table, split_lines

_TEXT = ("protocol_type", "service", "flag")

# Columns before the rates are counts, sizes and 0/1 marks.
_RATES = (
    "serror_rate",
    "srv_serror_rate",
    "rerror_rate",
    "srv_rerror_rate",
    "same_srv_rate",
    "diff_srv_rate",
    "srv_diff_host_rate",
    "dst_host_same_srv_rate",
    "dst_host_diff_srv_rate",
    "dst_host_same_src_port_rate",
    "dst_host_srv_diff_host_rate",
    "dst_host_serror_rate",
    "dst_host_srv_serror_rate",
    "dst_host_rerror_rate",
    "dst_host_srv_rerror_rate",
)

FEATURE_NAMES = (
    "duration",
    *_TEXT,
    "src_bytes",
    "dst_bytes",
    "land",
    "wrong_fragment",
    "urgent",
    "hot",
    "num_failed_logins",
    "logged_in",
    "num_compromised",
    "root_shell",
    "su_attempted",
    "num_root",
    "num_file_creations",
    "num_shells",
    "num_access_files",
    "num_outbound_cmds",
    "is_host_login",
    "is_guest_login",
    "count",
    "srv_count",
    *_RATES[:7],
    "dst_host_count",
    "dst_host_srv_count",
    *_RATES[7:],
)

# The families of the KDD Cup 1999 scoring, in which httptunnel counts as u2r and worm as r2l.
FAMILIES = {
    "normal": ("normal",),
    "dos": (
        "apache2",
        "back",
        "land",
        "mailbomb",
        "neptune",
        "pod",
        "processtable",
        "smurf",
        "teardrop",
        "udpstorm",
    ),
    "probe": ("ipsweep", "mscan", "nmap", "portsweep", "saint", "satan"),
    "r2l": (
        "ftp_write",
        "guess_passwd",
        "imap",
        "multihop",
        "named",
        "phf",
        "sendmail",
        "snmpgetattack",
        "snmpguess",
        "spy",
        "warezclient",
        "warezmaster",
        "worm",
        "xlock",
        "xsnoop",
    ),
    "u2r": (
        "buffer_overflow",
        "httptunnel",
        "loadmodule",
        "perl",
        "ps",
        "rootkit",
        "sqlattack",
        "xterm",
    ),
}
CLASS_NAMES = tuple(FAMILIES)
FAMILY_OF = {attack: family for family, attacks in FAMILIES.items() for attack in attacks}

TRAIN_COUNTS = (67343, 45927, 11656, 995, 52)
TEST_COUNTS = (9711, 7458, 2421, 2754, 200)

TRAIN_FILE, TEST_FILE = "KDDTrain+.txt", "KDDTest+.txt"

PUBLICATION = Publication(
    name="nsl-kdd",
    where=(
        'Canadian Institute for Cybersecurity, University of New Brunswick, "NSL-KDD dataset", the zip file '
        f"with {TRAIN_FILE} and {TEST_FILE}"
    ),
    files=(TRAIN_FILE, TEST_FILE),
    archives=("nsl-kdd.zip", "nsl?kdd*.zip"),
    subfolders=("nsl-kdd", "NSL-KDD", "NSL_KDD"),
)

SOURCE = (
    "Tavallaee, Bagheri, Lu and Ghorbani, A detailed analysis of the KDD CUP 99 data set, IEEE CISDA (2009). "
    "Canadian Institute for Cybersecurity, free to use with this citation."
)


class _Part(NamedTuple):
    X: pd.DataFrame
    y: NDArray[np.str_]
    attack: NDArray[np.str_]
    difficulty: NDArray[np.int64]


def from_files(
    data: DataFolder = None,
    *,
    train_counts: ClassCounts = TRAIN_COUNTS,
    test_counts: ClassCounts = TEST_COUNTS,
) -> Dataset:
    """Read the training and the test file into one DataFrame with text, whole and real columns.

    `y` is the attack's family, `extra["attack"]` its name, `extra["difficulty"]` the publisher's 0..21.
    """
    files = PUBLICATION.read(data)
    parts = [_read_part(files[TRAIN_FILE], train_counts), _read_part(files[TEST_FILE], test_counts)]
    return Dataset(
        name="nsl-kdd",
        X=pd.concat([part.X for part in parts], ignore_index=True),
        y=np.concatenate([part.y for part in parts]),
        class_names=CLASS_NAMES,
        feature_names=FEATURE_NAMES,
        # What a guard meets unprepared is a family of attack, not normal traffic; of the two families with
        # rows enough for steady figures, holding out probe leaves more kinds of attack to learn from.
        ood_class="probe",
        # The rarest class, and the attack that costs most: a user who becomes root.
        minority_class="u2r",
        source=SOURCE,
        split=np.repeat(np.array(["train", "test"]), [len(part.y) for part in parts]),
        extra={
            "attack": np.concatenate([part.attack for part in parts]),
            "difficulty": np.concatenate([part.difficulty for part in parts]),
        },
    )


SOURCES: Sources = {"files": from_files}


def _column_types() -> dict[Hashable, Any]:
    types: dict[Hashable, Any] = dict.fromkeys(FEATURE_NAMES, np.int64)
    types |= dict.fromkeys(_TEXT, str)
    types |= dict.fromkeys(_RATES, np.float64)
    return types | {"attack": str, "difficulty": np.int64}


def _read_part(file: RawFile, counts: ClassCounts) -> _Part:
    lines = split_lines(file)
    types = _column_types()
    check_fields(lines, [text.count(b",") + 1 for text in lines.texts], len(types))
    table = parse_table(lines, ",", types)
    codes, names = pd.factorize(table["attack"])
    unknown = [code for code, name in enumerate(names) if name not in FAMILY_OF]
    if unknown:
        row = int(np.flatnonzero(np.isin(codes, unknown))[0])
        raise lines.error(row, f"unknown attack '{names[codes[row]]}'")
    y = np.array([FAMILY_OF[name] for name in names])[codes]
    verify_counts(file.label, [int(np.count_nonzero(y == family)) for family in CLASS_NAMES], counts)
    return _Part(table[list(FEATURE_NAMES)], y, np.array(list(names))[codes], table["difficulty"].to_numpy())
