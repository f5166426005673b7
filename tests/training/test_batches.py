from __future__ import annotations

import pytest
import torch
from torch import Tensor

from gditd.training import batches
from gditd.training.batches import Batch, BatchStream, padded, split_for_stopping, stack_batches


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def stream(rows: Tensor, *, batch_size: int = 4, padded_size: int | None = None, seed: int = 0) -> BatchStream:
    size = batch_size if padded_size is None else padded_size
    return BatchStream(rows, batch_size=batch_size, padded_size=size, generator=generator(seed))


def real_rows(batch: Batch) -> list[int]:
    return batch.index[: batch.n_real].tolist()


def epoch_of(batches_of: BatchStream) -> list[list[int]]:
    return [real_rows(batches_of.next()) for _ in range(batches_of.steps_per_epoch)]


class TestBatchStream:
    @pytest.mark.parametrize(("n_rows", "batch_size"), [(12, 4), (11, 4), (9, 4), (3, 2), (3, 1), (3, 4), (1, 4)])
    def test_an_epoch_visits_every_row_once(self, n_rows: int, batch_size: int) -> None:
        rows = torch.arange(n_rows) * 7 + 5
        batches_of = stream(rows, batch_size=batch_size)
        for _ in range(3):
            epoch = epoch_of(batches_of)
            assert sorted(row for batch in epoch for row in batch) == rows.tolist()
            assert max(map(len, epoch)) <= batch_size
            assert len(epoch) == -(-n_rows // batch_size)

    def test_every_epoch_has_its_own_order(self) -> None:
        batches_of = stream(torch.arange(40))
        assert epoch_of(batches_of) != epoch_of(batches_of)

    def test_a_row_left_over_alone_gets_company(self) -> None:
        assert [len(batch) for batch in epoch_of(stream(torch.arange(9)))] == [4, 3, 2]

    def test_short_batches_are_padded_with_a_row_of_their_own(self) -> None:
        batches_of = stream(torch.arange(10, 16), padded_size=5)
        for n_real in (4, 2):
            batch = batches_of.next()
            assert (len(batch.index), batch.n_real) == (5, n_real)
            assert set(batch.index[n_real:].tolist()) == {int(batch.index[0])}

    def test_the_stream_depends_on_rows_and_seed_alone(self) -> None:
        rows = torch.arange(20, 31)
        alone = stream(rows, seed=3)
        expected = [real_rows(alone.next()) for _ in range(9)]
        torch.manual_seed(99)
        in_company, other = stream(rows, padded_size=50, seed=3), stream(torch.arange(200), seed=4)
        found = []
        for _ in range(9):
            found.append(real_rows(in_company.next()))
            other.next()
            torch.rand(1)
        assert found == expected

    def test_another_seed_gives_another_order(self) -> None:
        rows = torch.arange(40)
        assert epoch_of(stream(rows, seed=0)) != epoch_of(stream(rows, seed=1))


class TestStackedBatches:
    def test_padding_is_masked(self) -> None:
        index, mask = stack_batches([padded(torch.tensor([3, 4, 5]), 3), padded(torch.tensor([7]), 3)])
        assert index.tolist() == [[3, 4, 5], [7, 7, 7]]
        assert mask is not None
        assert mask.tolist() == [[1, 1, 1], [1, 0, 0]]

    def test_no_mask_without_padding(self) -> None:
        index, mask = stack_batches([padded(torch.tensor([3, 4]), 2), padded(torch.tensor([7, 8]), 2)])
        assert index.tolist() == [[3, 4], [7, 8]]
        assert mask is None


class TestSplitForStopping:
    labels = torch.tensor([0] * 100 + [1] * 40 + [2] * 4 + [3] * 9)

    def split(self, fraction: float, seed: int = 0, rows: Tensor | None = None) -> tuple[Tensor, Tensor]:
        rows = torch.arange(len(self.labels)) if rows is None else rows
        return split_for_stopping(rows, self.labels, fraction=fraction, generator=generator(seed))

    def counts(self, rows: Tensor) -> list[int]:
        return torch.bincount(self.labels[rows], minlength=4).tolist()

    def test_the_two_parts_share_no_row_and_lose_none(self) -> None:
        training, stopping = self.split(0.2)
        assert sorted(training.tolist() + stopping.tolist()) == list(range(len(self.labels)))

    def test_each_class_gives_its_share_and_tiny_ones_stay_whole(self) -> None:
        training, stopping = self.split(0.1)
        assert self.counts(stopping) == [10, 4, 0, 1]
        assert self.counts(training) == [90, 36, 4, 8]

    def test_four_of_five_rows_of_a_class_stay_for_training(self) -> None:
        assert self.counts(self.split(0.9)[1]) == [20, 8, 0, 1]

    def test_without_a_fraction_all_rows_train(self) -> None:
        training, stopping = self.split(0.0)
        assert len(stopping) == 0
        assert sorted(training.tolist()) == list(range(len(self.labels)))

    def test_only_the_given_rows_are_used(self) -> None:
        rows = torch.arange(0, 120, 2)
        training, stopping = self.split(0.2, rows=rows)
        assert sorted(training.tolist() + stopping.tolist()) == rows.tolist()

    def test_the_seed_decides(self) -> None:
        assert torch.equal(self.split(0.2, seed=1)[1], self.split(0.2, seed=1)[1])
        assert set(self.split(0.2, seed=1)[1].tolist()) != set(self.split(0.2, seed=2)[1].tolist())

    def test_a_large_table_sets_aside_no_more_than_needed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(batches, "LARGEST_STOPPING_SET", 15)
        assert len(self.split(0.2)[1]) in range(13, 17)
