"""How hard to try: seconds in `make test`, hours in `make torture`."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, Verbosity, settings

TORTURE = bool(os.environ.get("GDITD_TORTURE"))


def tries(short: int, long: int) -> settings:
    """So many examples; the short form tries the same ones each time, so that a test does not fail by chance."""
    return settings(
        max_examples=long if TORTURE else short,
        derandomize=not TORTURE,
        database=None,
        deadline=None,
        print_blob=True,
        verbosity=Verbosity.normal,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large],
    )
