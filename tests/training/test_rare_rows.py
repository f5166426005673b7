"""Rows of rare classes, repeated within an epoch."""

from __future__ import annotations

import torch

from gditd.training.batches import repeat_rare


def test_rare_rows_are_repeated_equally_often_until_batches_hold_enough():
    y = torch.tensor([0] * 90 + [1] * 10)
    # Five batches of 20 rows with 4 of each class want 20 rows of class 1: each of its 10 rows twice.
    repeated = repeat_rare(torch.arange(100), y, batch_size=20, per_batch=4)
    counts = torch.bincount(repeated, minlength=100)
    assert counts[:90].tolist() == [1] * 90
    assert counts[90:].tolist() == [2] * 10


def test_nothing_is_repeated_by_default():
    rows = torch.arange(7)
    assert repeat_rare(rows, torch.zeros(7, dtype=torch.int64), batch_size=2, per_batch=0).equal(rows)


def test_an_epoch_stays_bounded_where_no_batch_can_hold_all_classes():
    y = torch.arange(6_000) % 1_000
    y[:2_000] = 0
    repeated = repeat_rare(torch.arange(6_000), y, batch_size=200, per_batch=8)
    assert len(repeated) <= 3 * 6_000 + 1_000
    counts = torch.bincount(y[repeated])
    assert counts.min() >= 2 * 6_000 / 1_000
