"""Serve models over HTTP."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

NEEDED = ("fastapi", "uvicorn", "prometheus_client")


def serve_models(
    models: tuple[Path, ...],
    *,
    host: str,
    port: int,
    api_key: str | None,
    max_body: float,
    max_rows: int,
    timeout: float,
    max_waiting: int,
    quiet: bool,
) -> None:
    """Serve until told to stop."""
    if any(find_spec(name) is None for name in NEEDED):
        raise ValueError('gditd serve needs: pip install "gditd[serve]"')
    if api_key is not None and not api_key.strip():
        raise ValueError("the API key is empty: give one that is hard to guess, or none at all")
    for path in models:
        if not path.exists():
            raise ValueError(f"there is no file or folder {path}: give a model that gditd fit has written")

    from gditd.serve.run import serve  # noqa: PLC0415 - only here is it certain that FastAPI is there
    from gditd.serve.settings import MEGABYTE, Settings  # noqa: PLC0415

    settings = Settings(
        models=models,
        api_key=api_key,
        max_body=round(max_body * MEGABYTE),
        max_rows=max_rows,
        timeout=timeout,
        max_waiting=max_waiting,
        quiet=quiet,
    )
    serve(settings, host=host, port=port)
