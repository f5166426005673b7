"""What a person does at the page, and what they see there."""

from __future__ import annotations

import csv
import io

import pytest

sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
pytest.importorskip("fastapi", reason='needs the service: pip install "gditd[serve]"')
expect = sync_api.expect


def as_csv(table, **options):
    return table.to_csv(index=False, **options)


def paste(page, text):
    page.fill("#paste", text)
    page.click("text=Give verdicts")
    settled(page)


def settled(page):
    page.wait_for_selector("#verdicts-body tr")
    page.wait_for_selector("#loading", state="hidden")


def column(page, number):
    """The texts of a column of the table, counted from 0 (the row's number)."""
    cells = page.locator(f"#verdicts-body tr > :nth-child({number + 1})").all_inner_texts()
    return [cell.split(":")[0].strip() for cell in cells] if number == 0 else cells


def verdicts_on(page):
    return [text.replace("✕", "").strip() for text in column(page, 1)]


def downloaded(page, button):
    with page.expect_download() as download:
        page.click(button)
    text = download.value.path().read_text(encoding="utf-8-sig")
    return download.value.suggested_filename, list(csv.reader(io.StringIO(text)))
