"""Networks by name."""

from __future__ import annotations

import pytest

from gditd.detectors.network import WIDE, resolve_backbone


@pytest.mark.parametrize(("n_features", "width"), [(3, 64), (WIDE, 64), (WIDE + 1, 128)])
def test_wide_tables_have_wider_layers(n_features, width):
    network = resolve_backbone("mlp-by-width")(n_features)
    biases = [len(tensor) for name, tensor in network.named_parameters() if name.endswith("bias")]
    assert biases == [width] * 3


def test_an_unknown_name_is_refused_with_those_that_are_known():
    with pytest.raises(ValueError, match=r'"mlp-by-width".*got .mlp-65.'):
        resolve_backbone("mlp-65")
