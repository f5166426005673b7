"""Detectors fitted together come out as if fitted alone."""

import numpy as np
import pytest

from gditd.detectors import GDITD, DeepMCDD, Energy, Mahalanobis, Softmax
from gditd.detectors.together import Lesson, fit_together


def tables(n_tables: int = 3, n_features: int = 6) -> list[tuple[np.ndarray, np.ndarray]]:
    made = []
    for seed in range(n_tables):
        rng = np.random.default_rng(seed)
        y = np.arange(120 + 10 * seed) % 3
        X = 3 * np.eye(3, n_features)[y] * (seed + 1) + rng.standard_normal((len(y), n_features))
        made.append((X, np.array(["a", "b", "c"])[y]))
    return made


@pytest.mark.parametrize("kind", [Softmax, DeepMCDD, GDITD, Mahalanobis])
def test_as_if_fitted_alone(kind):
    data = tables()
    together = [kind(max_epochs=3, batch_size=32, random_state=seed) for seed in range(3)]
    fit_together([Lesson([detector], X, y) for detector, (X, y) in zip(together, data, strict=True)])
    for seed, (detector, (X, y)) in enumerate(zip(together, data, strict=True)):
        alone = kind(max_epochs=3, batch_size=32, random_state=seed).fit(X, y)
        np.testing.assert_allclose(detector.ood_score(X), alone.ood_score(X), rtol=1e-3, atol=1e-4)
        assert (detector.predict(X) == alone.predict(X)).mean() > 0.99
        assert len(detector.cohort_.history) == len(alone.cohort_.history) == 3
        assert {record.member for record in detector.cohort_.history} == {0}


def test_detectors_of_one_lesson_share_a_network():
    (X, y), *_ = tables()
    softmax, mahalanobis, energy = (kind(max_epochs=2, random_state=0) for kind in (Softmax, Mahalanobis, Energy))
    fit_together([Lesson([softmax, mahalanobis, energy], X, y)])
    alone = Mahalanobis(max_epochs=2, random_state=0).fit(X, y)
    np.testing.assert_allclose(mahalanobis.ood_score(X), alone.ood_score(X), rtol=1e-4)
    np.testing.assert_array_equal(softmax.class_scores(X), energy.class_scores(X))


def test_a_part_is_its_own(tmp_path):
    data = tables(2)
    detectors = [GDITD(max_epochs=2, n_members=2, random_state=seed) for seed in range(2)]
    fit_together([Lesson([detector], X, y) for detector, (X, y) in zip(detectors, data, strict=True)])
    detectors[1].save(tmp_path / "m.gditd")
    import gditd

    loaded = gditd.load(tmp_path / "m.gditd")
    np.testing.assert_array_equal(loaded.ood_score(data[1][0]), detectors[1].ood_score(data[1][0]))


def test_different_training_is_refused():
    (X, y), *_ = tables()
    with pytest.raises(ValueError, match="Softmax and DeepMCDD do not train alike"):
        fit_together([Lesson([Softmax()], X, y), Lesson([DeepMCDD()], X, y)])
    with pytest.raises(ValueError, match="do not train alike"):
        fit_together([Lesson([GDITD(push=0.1)], X, y), Lesson([GDITD()], X, y)])


def test_different_shapes_are_refused():
    (X, y), *_ = tables()
    with pytest.raises(ValueError, match="5 columns and 3 classes, 6 columns and 3 classes"):
        fit_together([Lesson([Softmax()], X, y), Lesson([Softmax()], X[:, 1:], y)])
