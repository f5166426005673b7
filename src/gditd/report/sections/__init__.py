"""The sections of a report, one a file: material in, HTML out, or a word on why there is none."""
