"""The service as a process: a socket, signals, and an end that drops nobody."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import shlex
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from ipaddress import ip_address

import torch
import uvicorn

from gditd.serve.app import create_app
from gditd.serve.connections import Config
from gditd.serve.logs import ServerMessages
from gditd.serve.service import Service
from gditd.serve.settings import Settings

GRACE_SECONDS = 5.0  # beyond a request's own time limit, for its answer to get away
BACKLOG = 2048


def serve(settings: Settings, *, host: str, port: int) -> None:
    """Serve until a signal says stop; ValueError where the port or a model cannot be had."""
    torch.set_num_threads(1)
    listening = listen(host, port)
    app = create_app(settings, load=False)
    service: Service = app.state.service
    config = Config(
        app,
        settings,
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        lifespan="on",
        timeout_graceful_shutdown=round(settings.timeout + GRACE_SECONDS),
        backlog=BACKLOG,
    )
    logging.captureWarnings(True)  # numpy's about odd numbers in a request, for one
    for source in ("uvicorn.error", "asyncio", "py.warnings"):
        logging.getLogger(source).addHandler(ServerMessages(service.log))
    server = Server(config)
    with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
        runner.run(work(server, service, listening, host))


class Server(uvicorn.Server):
    """uvicorn without its own signal handling, which would end the process by the signal it was stopped with."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to `work`."""
        yield


async def work(server: Server, service: Service, listening: socket.socket, host: str) -> None:
    """Listen at once, so that health checks get an answer, then load the models; stop when told to."""
    loop = asyncio.get_running_loop()
    reloads: set[asyncio.Task[None]] = set()

    def reload() -> None:
        if service.registry.ready:  # before that, the models are being read anyway
            task = loop.create_task(service.reload())
            reloads.add(task)
            task.add_done_callback(reloads.discard)

    for stop in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(stop, server.handle_exit, stop, None)
    if hasattr(signal, "SIGHUP"):
        loop.add_signal_handler(signal.SIGHUP, reload)
    serving = asyncio.create_task(server.serve([listening]))
    try:
        await asyncio.to_thread(service.registry.load)
    except Exception:
        server.should_exit = True
        await serving
        raise
    # What is loaded by now stays: the garbage collector would look through torch's objects for a tenth of a second,
    # again and again, while requests wait.
    gc.collect()
    gc.freeze()
    if not server.should_exit:
        with suppress(BrokenPipeError):  # as in `| head -1`: whoever has read the address wants the service
            announce(service, address(listening, host), to_others=not is_loopback(listening))
    await serving


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 lets the system choose."""
    try:
        family, *_, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        return socket.create_server(place[:2], family=family, backlog=BACKLOG)
    except OSError as error:
        reason = error.strerror or str(error)
        raise ValueError(
            f"cannot listen on {host} port {port} ({reason}): choose another --port, or 0 for any that is free"
        ) from None


def address(listening: socket.socket, host: str) -> str:
    """The service's address as people type it."""
    port = listening.getsockname()[1]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def is_loopback(listening: socket.socket) -> bool:
    """Whether only this machine reaches the socket."""
    return ip_address(listening.getsockname()[0].partition("%")[0]).is_loopback


def announce(service: Service, url: str, *, to_others: bool) -> None:
    """Say where the service is and how to try it; a warning where others reach it without a key."""
    served = service.registry.all()
    print(f"Serving {', '.join(one.name for one in served)} on {url}", flush=True)
    if service.settings.quiet:
        return
    query = "" if len(served) == 1 else f"?model={served[0].name}"
    key = "" if service.settings.api_key is None else ' -H "authorization: Bearer $GDITD_API_KEY"'
    body = shlex.quote(json.dumps({"rows": [served[0].example]}, ensure_ascii=False))
    print(f"The page for people: {url}/")
    print(f"Try: curl -s '{url}/v1/predict{query}' -H 'content-type: application/json'{key} -d {body}", flush=True)
    if to_others and service.settings.api_key is None:
        print("note: whoever reaches this address may use it: ask for a key with --api-key", flush=True)
