"""A real `gditd serve`, and its page in a real browser, which must not misbehave."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from urllib.parse import urlsplit

import numpy as np
import pandas as pd
import pytest

from gditd import GDITDClassifier, load
from tests.raw_tables import mixed_table


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    """mixed.gditd, and sizes.gditd, which goes by the paper's sign rule."""
    folder = tmp_path_factory.mktemp("models")
    table, labels = mixed_table((70, 80, 110))
    GDITDClassifier(preset="fast", max_epochs=20, random_state=0).fit(table, labels).save(folder / "mixed.gditd")
    sizes = pd.DataFrame({"width": np.random.default_rng(0).normal(size=80)})
    paper = GDITDClassifier(preset="paper", max_epochs=2, random_state=0)
    paper.fit(sizes, np.where(sizes["width"] > 0, "broad", "slim")).save(folder / "sizes.gditd")
    return folder


@pytest.fixture(scope="session")
def address(models):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "gditd.cli", "serve", str(models), "--port", str(port), "--quiet"]
    service = subprocess.Popen(command, env=os.environ | {"OMP_NUM_THREADS": "1"})
    address = f"http://127.0.0.1:{port}"
    try:
        wait_for(f"{address}/health", service)
        yield address
    finally:
        service.terminate()
        service.wait(timeout=20)


def wait_for(url, service, seconds=40):
    end = time.monotonic() + seconds
    while time.monotonic() < end and service.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=2):
                return
        except OSError:
            time.sleep(0.1)
    pytest.fail("gditd serve did not start")


@pytest.fixture
def page(browser, address):
    """The page with its model loaded; it may log no error and ask no other host."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    page = context.new_page()
    page.set_default_timeout(15_000)
    complaints, hosts = [], set()
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: hosts.add(urlsplit(request.url).netloc))
    page.complaints = complaints
    page.goto(address)
    page.wait_for_selector("#promise:not(:empty)")
    yield page
    context.close()
    assert complaints == []
    assert hosts - {""} == {urlsplit(address).netloc}  # blob: addresses, of downloads, have no host


@pytest.fixture(scope="session")
def classifier(models):
    return load(models / "mixed.gditd")


@pytest.fixture(scope="session")
def rows():
    """Forty rows, the first eight of a kind never trained on."""
    table, _ = mixed_table((10, 14, 16), seed=1)
    table.loc[:7, "amount"] = 90.0
    return table
