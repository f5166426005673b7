"""gditd inside other systems, each in a package of its own that is imported only where it is used."""
