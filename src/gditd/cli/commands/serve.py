"""`gditd serve`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gditd.cli.examples import examples
from gditd.cli.options import Verify
from gditd.cli.trust import only_signed_by

NAME = "serve"
EXAMPLES = examples(
    ("a page for people and an API, on this machine only", "gditd serve m.gditd"),
    ("every model of a folder, for others to reach", "GDITD_API_KEY=secret gditd serve models/ --host 0.0.0.0"),
    ("a port that is free, no bodies over 5 MB", "gditd serve m.gditd --port 0 --max-body 5"),
)


def command(
    models: Annotated[
        list[Path],
        typer.Argument(
            metavar="MODEL...",
            help="Model files that gditd fit has written, or folders of them; each is served under its file's name.",
            show_default=False,
        ),
    ],
    *,
    host: Annotated[
        str, typer.Option("--host", help="The address to listen on; 0.0.0.0 lets other machines in.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65_535, help="The port to listen on; 0 takes one that is free.")
    ] = 8000,
    api_key: Annotated[
        str | None,
        typer.Option(
            "--api-key",
            envvar="GDITD_API_KEY",
            metavar="KEY",
            help="A key that requests must bring; better given in the environment, which other users cannot see.",
            show_default=False,
        ),
    ] = None,
    max_body: Annotated[
        float, typer.Option("--max-body", metavar="MB", min=0.001, help="The largest body, also when decompressed.")
    ] = 64,
    max_rows: Annotated[int, typer.Option("--max-rows", metavar="N", min=1, help="The most rows a request.")] = 200_000,
    timeout: Annotated[
        float, typer.Option("--timeout", metavar="SECONDS", min=0.001, help="The longest that a request may take.")
    ] = 60,
    max_waiting: Annotated[
        int, typer.Option("--max-waiting", metavar="N", min=1, help="The most requests under way; more get a 503.")
    ] = 256,
    verify: Verify = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Log errors only, and print nothing but the address.")
    ] = False,
) -> None:
    """Serve verdicts over HTTP, with a page for people.

    POST rows to /v1/predict as JSON, CSV, Parquet or Arrow. SIGHUP reads the model files anew, SIGTERM lets requests
    end and stops. See docs/http.md.
    """
    from gditd.cli.tasks.serve import serve_models  # noqa: PLC0415 - torch takes seconds, help should not

    with only_signed_by(verify):
        serve_models(
            tuple(models),
            host=host,
            port=port,
            api_key=api_key,
            max_body=max_body,
            max_rows=max_rows,
            timeout=timeout,
            max_waiting=max_waiting,
            quiet=quiet,
        )
