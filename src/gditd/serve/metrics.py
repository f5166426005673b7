"""Figures for Prometheus."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
REQUESTS = (1, 2, 4, 8, 16, 32, 64, 128)


class Metrics:
    """One service's figures, in a registry of their own: several services may live in one process."""

    content_type = CONTENT_TYPE_PLAIN_0_0_4

    def __init__(self, requests_under_way: Callable[[], int]) -> None:
        registry = self._registry = CollectorRegistry()
        self._requests = Counter(
            "gditd_requests", "Requests answered.", ("method", "route", "status"), registry=registry
        )
        self._seconds = Histogram(
            "gditd_request_seconds", "Time to answer.", ("route",), buckets=SECONDS, registry=registry
        )
        self._rows = Counter("gditd_rows", "Rows given a verdict.", ("model",), registry=registry)
        self._ood_rows = Counter("gditd_ood_rows", "Rows whose verdict was OOD.", ("model",), registry=registry)
        self._reloads = Counter("gditd_reloads", "Reloads, by outcome.", ("outcome",), registry=registry)
        under_way = Gauge("gditd_requests_under_way", "Requests that are being worked on.", registry=registry)
        under_way.set_function(requests_under_way)
        self._joined = Histogram(
            "gditd_joined_requests", "Small requests scored in one pass.", buckets=REQUESTS, registry=registry
        )
        # Finding a labelled child takes a lock and a dict of strings: remembered, as there are few of them.
        self._request_child = cache(self._requests.labels)
        self._seconds_child = cache(self._seconds.labels)
        self._rows_child = cache(self._rows.labels)
        self._ood_rows_child = cache(self._ood_rows.labels)

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count an answer."""
        self._request_child(method, route, str(status)).inc()
        self._seconds_child(route).observe(seconds)

    def verdicts(self, model: str, rows: int, ood_rows: int) -> None:
        """Count verdicts; both counters are there from a model's first row on, for their quotient to be."""
        self._rows_child(model).inc(rows)
        self._ood_rows_child(model).inc(ood_rows)

    def reload(self, *, complete: bool) -> None:
        """Count a reload."""
        self._reloads.labels("complete" if complete else "partial").inc()

    def joined(self, requests: int) -> None:
        """Say how many requests shared a pass."""
        self._joined.observe(requests)

    def exposition(self) -> bytes:
        """The text that Prometheus reads."""
        return generate_latest(self._registry)
