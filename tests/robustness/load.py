"""Load a real `gditd serve` on this machine with all kinds of traffic at once, then overload it.

    python -m tests.robustness.load --minutes 10 [--json] [--out docs/results/load.md]

Each kind of traffic has statuses that are right for it; any other is a problem, as is memory that goes on growing after
a while. Then a service that takes few requests at once gets many: it must send away what is too much, quickly, answer
the rest in time, and be well again afterwards.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import statistics
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.loops import run_apart
from tests.robustness.http.requests import CSV, JSON, STREAM, good, packed_variants
from tests.robustness.served import MIB, Served, served

BIG = 10_000  # rows
TIMEOUT = 60  # seconds that a request may take; a busy machine is no problem of the service
WARM_SHARE = 0.25  # of the time, in which memory may grow
FLAT = 0.05  # by which it may differ afterwards
FLAT_BYTES = 32 * MIB
GONE = "hung up"  # instead of a status, where the client did

CROWD = 48  # clients in the overload
TAKEN = 6  # requests that the service takes at once then
OVERLOAD_TIMEOUT = 15
QUICKLY = 2.0  # seconds in which a request must be sent away: the machine has other work, too
WELL_AGAIN = 10.0  # seconds


@dataclass
class Kind:
    """What became of one kind of traffic."""

    right: frozenset[object]
    statuses: Counter[object] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)

    def add(self, status: object, seconds: float) -> None:
        self.statuses[status] += 1
        self.seconds.append(seconds)

    def milliseconds(self, percent: int) -> float | None:
        """A percentile of the time to an answer; none where nobody waited for one."""
        if not self.seconds or GONE in self.right:
            return None
        return 1_000 * sorted(self.seconds)[min(len(self.seconds) - 1, len(self.seconds) * percent // 100)]


@dataclass
class Tally:
    """What became of the load and of the overload."""

    seconds: float
    kinds: dict[str, Kind] = field(default_factory=dict)
    memory: list[int] = field(default_factory=list)
    """Bytes that the service had, at equal intervals after it was warm."""
    answered: Kind = field(default_factory=lambda: Kind(frozenset({200})))
    refused: Kind = field(default_factory=lambda: Kind(frozenset({503})))
    well_after: float | None = None
    """Seconds after the overload until a row was answered again."""
    problems: list[str] = field(default_factory=list)

    @property
    def thirds(self) -> tuple[float, float]:
        """The median memory of the first third and of the last."""
        part = max(1, len(self.memory) // 3)
        return statistics.median(self.memory[:part]), statistics.median(self.memory[-part:])

    def __str__(self) -> str:
        requests = sum(kind.statuses.total() for kind in self.kinds.values())
        found = "; ".join(self.problems) or "all as it should be"
        return f"{requests} requests in {self.seconds:.0f} s, {self.refused.statuses.total()} refused: {found}"


# --- clients ---


class Client:
    """A connection to the service that sends requests by hand."""

    def __init__(self, port: int, draw: random.Random) -> None:
        self.port, self.draw = port, draw
        self._open: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def opened(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._open is None or self._open[0].at_eof() or self._open[1].is_closing():
            self._open = await asyncio.open_connection("127.0.0.1", self.port)
        return self._open

    def hang_up(self) -> None:
        if self._open is not None:
            self._open[1].transport.abort()
            self._open = None

    async def ask(self, body: bytes, kind: str, pause: float = 0.0) -> int:
        """Send a body, in parts with pauses between them where so asked, and take the answer."""
        reader, writer = await self.opened()
        writer.write(head(body, kind))
        part = len(body) // 10 + 1 if pause else len(body) + 1
        for start in range(0, len(body) + 1, part):
            writer.write(body[start : start + part])
            await asyncio.sleep(pause)
        top = (await reader.readuntil(b"\r\n\r\n")).lower()
        await reader.readexactly(int(top.split(b"content-length: ")[1].split(b"\r\n")[0]))
        if b"connection: close" in top:
            self.hang_up()
        return int(top.split()[1])


def head(body: bytes, kind: str) -> bytes:
    lines = ["POST /v1/predict HTTP/1.1", "host: x", f"content-type: {kind}", f"content-length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode()


Turn = Callable[[Client], Awaitable[object]]


async def one_row(client: Client) -> int:
    return await client.ask(good(JSON, 1), JSON)


async def big_csv(client: Client) -> int:
    return await client.ask(good(CSV, BIG), CSV)


async def big_arrow(client: Client) -> int:
    return await client.ask(good(STREAM, BIG), STREAM)


async def slow_rows(client: Client) -> int:
    return await client.ask(good(JSON, 20), JSON, pause=client.draw.uniform(0.02, 0.2))


async def bad_body(client: Client) -> int:
    """A body that is cut short, or all wrong."""
    kind = client.draw.choice([JSON, STREAM, CSV])
    whole = packed_variants(kind)[0]
    wrong = {JSON: whole[: client.draw.randrange(len(whole))], STREAM: whole[: len(whole) // 2], CSV: b"a,b\n1\n"}
    return await client.ask(wrong[kind], kind)


async def hang_up(client: Client) -> str:
    """Leave at any moment, also while the answer is being made."""
    body, kind = client.draw.choice([(good(JSON, 1), JSON), (good(CSV, BIG), CSV), (good(STREAM, BIG), STREAM)])
    request = head(body, kind) + body
    _, writer = await client.opened()
    writer.write(request[: round(len(request) * min(1.0, client.draw.uniform(0.0, 1.3)))])
    await asyncio.sleep(client.draw.uniform(0.0, 0.1))
    client.hang_up()
    return GONE


@dataclass(frozen=True)
class Traffic:
    """One kind: what a client does over and over, how many do so, how long each rests, and what is right."""

    turn: Turn
    clients: int
    rest: float
    right: frozenset[object]


TRAFFIC = {
    "one row": Traffic(one_row, 8, 0.02, frozenset({200})),
    "10,000 rows, CSV": Traffic(big_csv, 1, 0.3, frozenset({200})),
    "10,000 rows, Arrow": Traffic(big_arrow, 1, 0.3, frozenset({200})),
    "20 rows, sent slowly": Traffic(slow_rows, 4, 0.1, frozenset({200})),
    "bad bodies": Traffic(bad_body, 2, 0.05, frozenset({400, 422})),
    "clients that hang up": Traffic(hang_up, 2, 0.1, frozenset({GONE})),
}


async def go_on(turn: Turn, client: Client, rest: float, until: float, add: Callable[[object, float], None]) -> None:
    """Take turns until the time is over; a connection that breaks is what became of a turn."""
    while time.monotonic() < until:
        started = time.monotonic()
        try:
            outcome = await asyncio.wait_for(turn(client), 2 * TIMEOUT)
        except (OSError, EOFError, TimeoutError) as error:
            outcome = type(error).__name__
            client.hang_up()
        add(outcome, time.monotonic() - started)
        await asyncio.sleep(client.draw.uniform(0.5, 1.5) * rest)
    client.hang_up()


async def watch(server: Served, memory: list[int], seconds: float, until: float) -> None:
    """Note the memory after the warm-up, some hundred times at most."""
    await asyncio.sleep(WARM_SHARE * seconds)
    while time.monotonic() < until:
        memory.append(server.memory())
        await asyncio.sleep(max(0.1, seconds / 400))


# --- the two phases ---


async def load(server: Served, tally: Tally, draw: random.Random) -> None:
    """All kinds of traffic at once."""
    until = time.monotonic() + tally.seconds
    work: list[Awaitable[None]] = [watch(server, tally.memory, tally.seconds, until)]
    for name, traffic in TRAFFIC.items():
        kind = tally.kinds[name] = Kind(traffic.right)
        for _ in range(traffic.clients):
            client = Client(server.port, random.Random(draw.random()))
            work.append(go_on(traffic.turn, client, traffic.rest, until, kind.add))
    await asyncio.gather(*work)


def judge_load(tally: Tally) -> None:
    """Name what is not as it should be."""
    for name, kind in tally.kinds.items():
        wrong = {status: count for status, count in kind.statuses.items() if status not in kind.right}
        if wrong:
            tally.problems.append(f"{name}: {wrong}")
        if not kind.statuses:
            tally.problems.append(f"{name}: nothing was done")
    first, last = tally.thirds
    if last - first > max(FLAT * first, FLAT_BYTES):
        tally.problems.append(f"memory grew from {first / MIB:.0f} to {last / MIB:.0f} MiB")


async def overload(server: Served, tally: Tally, seconds: float, draw: random.Random) -> None:
    """Many more clients than the service takes requests."""
    until = time.monotonic() + seconds

    def add(outcome: object, took: float) -> None:
        (tally.refused if outcome == 503 else tally.answered).add(outcome, took)

    turns = [big_csv, big_arrow, one_row]
    clients = [Client(server.port, random.Random(draw.random())) for _ in range(CROWD)]
    await asyncio.gather(
        *(go_on(turns[place % 3], client, 0.1, until, add) for place, client in enumerate(clients)),
    )
    started = time.monotonic()
    client = Client(server.port, draw)
    while time.monotonic() - started < WELL_AGAIN and tally.well_after is None:
        if await one_row(client) == 200:
            tally.well_after = time.monotonic() - started
        await asyncio.sleep(0.05)
    client.hang_up()


def judge_overload(tally: Tally) -> None:
    """Name what is not as it should be."""
    wrong = {status: count for status, count in tally.answered.statuses.items() if status != 200}
    if wrong:
        tally.problems.append(f"overload: {wrong}")
    for kind, most in ((tally.answered, OVERLOAD_TIMEOUT), (tally.refused, QUICKLY)):
        slowest = kind.milliseconds(99)
        if slowest is None:
            tally.problems.append(f"overload: nothing was answered with {set(kind.right)}")
        elif slowest > 1_000 * most:
            tally.problems.append(f"overload: {set(kind.right)} took {slowest:.0f} ms")
    if tally.well_after is None:
        tally.problems.append("the service was not well again after the overload")


def loaded(seconds: float, overload_seconds: float, seed: int) -> Tally:
    """Do both phases, each with a service of its own."""
    tally = Tally(seconds)
    draw = random.Random(seed)
    with TemporaryDirectory() as folder:
        with served(Path(folder), "--timeout", TIMEOUT) as server:
            run_apart(load(server, tally, draw))
            note_harm(server, tally)
        with served(Path(folder), "--timeout", OVERLOAD_TIMEOUT, "--max-waiting", TAKEN) as server:
            run_apart(overload(server, tally, overload_seconds, draw))
            note_harm(server, tally, designed=frozenset({503}))
    judge_load(tally)
    judge_overload(tally)
    return tally


def note_harm(server: Served, tally: Tally, designed: frozenset[int] = frozenset()) -> None:
    """Look at the service afterwards, and at what it logged."""
    try:
        logged = [line for line in server.new_log_lines() if line.get("status") not in designed]
        server.assert_unharmed()
    except (AssertionError, OSError, ValueError) as error:
        tally.problems.append(f"afterwards: {error}")
    else:
        tally.problems += [f"logged: {line}" for line in logged[:5]]


# --- what is told of it ---


def document(tally: Tally) -> dict[str, Any]:
    """The tally in plain values."""
    first, last = tally.thirds

    def told(kind: Kind) -> dict[str, Any]:
        statuses = {str(status): count for status, count in sorted(kind.statuses.items(), key=str)}
        return {"statuses": statuses, "p50_ms": kind.milliseconds(50), "p99_ms": kind.milliseconds(99)}

    return {
        "seconds": tally.seconds,
        "kinds": {name: told(kind) for name, kind in tally.kinds.items()},
        "memory_mib": {"first_third": first / MIB, "last_third": last / MIB, "most": max(tally.memory) / MIB},
        "overload": {
            "clients": CROWD,
            "max_waiting": TAKEN,
            "answered": told(tally.answered),
            "refused": told(tally.refused),
            "well_after_seconds": tally.well_after,
        },
        "problems": tally.problems,
    }


def page(tally: Tally, command: str) -> str:
    """The tally as a page."""
    figures = document(tally)
    memory, over = figures["memory_mib"], figures["overload"]
    gigabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    busy = os.getloadavg()[2]
    lines = [
        "# The service under load",
        "",
        f"Made by `{command}`: {tally.seconds / 60:g} minutes of mixed traffic from this machine to a small model, "
        f"then an overload. {os.cpu_count()} cores, {gigabytes:.0f} GiB of memory, shared by the service, its clients "
        f"and whatever else ran; the load average was {busy:.1f}. Trust statuses and memory more than milliseconds.",
        "",
        "## All kinds at once",
        "",
        "| traffic | clients | outcomes | p50, ms | p99, ms |",
        "|---|---:|---|---:|---:|",
    ]
    for name, kind in figures["kinds"].items():
        lines.append(f"| {name} | {TRAFFIC[name].clients} | {outcomes(kind)} | {times(kind)} |")
    lines += [
        "",
        f"Memory after the warm-up: {memory['first_third']:.0f} MiB in the first third, {memory['last_third']:.0f} MiB "
        f"in the last (medians), {memory['most']:.0f} MiB at most.",
        "",
        "## Overload",
        "",
        f"{over['clients']} clients, two thirds of them with 10,000 rows a request, to a service with "
        f"`--max-waiting {over['max_waiting']}`.",
        "",
        "| | outcomes | p50, ms | p99, ms |",
        "|---|---|---:|---:|",
        f"| answered | {outcomes(over['answered'])} | {times(over['answered'])} |",
        f"| sent away | {outcomes(over['refused'])} | {times(over['refused'])} |",
        "",
        f"A row was answered again after {over['well_after_seconds']:.1f} s."
        if over["well_after_seconds"] is not None
        else "No row was answered afterwards.",
        "",
        f"Problems: {'; '.join(tally.problems) or 'none'}.",
        "",
    ]
    return "\n".join(lines)


def outcomes(kind: dict[str, Any]) -> str:
    return ", ".join(f"{count:,} of {status}" for status, count in kind["statuses"].items())


def times(kind: dict[str, Any]) -> str:
    return " | ".join("" if kind[name] is None else f"{kind[name]:,.0f}" for name in ("p50_ms", "p99_ms"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--overload-seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--out", type=Path, help="write the figures to this page")
    asked = parser.parse_args()
    tally = loaded(60 * asked.minutes, asked.overload_seconds, asked.seed)
    print(json.dumps(document(tally)) if asked.json else tally, flush=True)
    if asked.out is not None:
        command = " ".join(["python -m tests.robustness.load", *sys.argv[1:]])
        asked.out.write_text(page(tally, command), encoding="utf-8")
    sys.exit(bool(tally.problems))


if __name__ == "__main__":
    main()
