import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from gditd.datasets import DatasetError

Raises = Callable[..., AbstractContextManager[None]]


@pytest.fixture
def real_data() -> str:
    folder = os.environ.get("GDITD_DATA")
    if not folder:
        pytest.skip("GDITD_DATA is unset: the publishers' files are not available")
    return folder


@pytest.fixture
def raises() -> Raises:
    """Expect a DatasetError that holds every given part on a single line."""

    @contextmanager
    def expect(*parts: str | Path) -> Iterator[None]:
        with pytest.raises(DatasetError) as caught:
            yield
        message = str(caught.value)
        assert "\n" not in message
        for part in parts:
            assert str(part) in message

    return expect
