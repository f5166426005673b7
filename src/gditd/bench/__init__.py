"""Methods measured on the same splits: protocol, runner, tables and figures."""

from gditd.bench.experiment import BenchError, Experiment
from gditd.bench.methods import method_names
from gditd.bench.runner import Outcome, run, run_all

__all__ = ["BenchError", "Experiment", "Outcome", "method_names", "run", "run_all"]
