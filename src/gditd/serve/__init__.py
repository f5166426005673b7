"""`gditd serve`: verdicts over HTTP, and a page for people."""
