"""The demo: simulated disputes, what a model makes of them, and the words for it."""
