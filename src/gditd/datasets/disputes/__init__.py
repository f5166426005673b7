"""Card disputes: a seeded simulation in the place of the paper's private table."""

from gditd.datasets.disputes.generator import N_FEATURES, N_ROWS, SOURCES, available_features, make_disputes

__all__ = ["N_FEATURES", "N_ROWS", "SOURCES", "available_features", "make_disputes"]
