"""Learning from Parquet larger than memory: count the classes, then check every row and draw a sample of each class."""

from gditd.streaming.labels import as_class_labels
from gditd.streaming.parquet import ParquetSource, is_parquet
from gditd.streaming.sample import Sample, Tell, draw_sample

__all__ = ["ParquetSource", "Sample", "Tell", "as_class_labels", "draw_sample", "is_parquet"]
