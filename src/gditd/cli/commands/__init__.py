"""What can be typed, one command a file; nothing here imports torch, so that help comes at once."""
