"""`python -m gditd.cli` does what `gditd` does."""

from gditd.cli import main

main()
