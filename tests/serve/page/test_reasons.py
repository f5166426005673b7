"""Why a row is judged as it is: by keyboard, and of a single case."""

from __future__ import annotations

import re

import pandas as pd

from tests.serve.page.desk import as_csv, expect, paste


def test_a_reason_by_keyboard(page, rows, classifier):
    paste(page, as_csv(rows))
    page.locator("#verdicts-body button").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Row 3: OOD")
    expect(dialog).to_be_visible()
    top = classifier.explain(rows.iloc[[2]])[0].columns[0]
    first = dialog.locator("ol.reasons li").first
    expect(first).to_contain_text(top.column)
    expect(first).to_contain_text(f"usual: {top.usual}")
    expect(dialog.get_by_role("img")).to_have_attribute("aria-label", re.compile("row 3 is called OOD"))
    dialog.get_by_role("button", name="Next row").press("Enter")
    expect(page.get_by_role("dialog", name="Row 4: OOD")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#row-dialog")).to_be_hidden()
    expect(page.locator('#verdicts-body button[data-row="3"]')).to_be_focused()


def test_a_single_case(page, rows, classifier):
    page.click("role=tab[name='A single case']")
    page.get_by_label("amount", exact=True).fill("90")
    page.get_by_label("region", exact=True).select_option("other …")
    page.get_by_label("region, other").fill("the moon")
    page.get_by_label("member", exact=True).uncheck()
    page.get_by_label("gap", exact=True).fill("")
    page.get_by_label("day", exact=True).fill("2024-03-01")
    page.click("text=Give a verdict")
    result = page.locator("#case-result")
    expect(result.locator("h3")).to_contain_text("OOD")
    expect(result).to_contain_text("is below alpha, 0.05")
    expect(result.locator(".reasons")).to_contain_text("the moon")
    page.get_by_label("amount", exact=True).fill("a lot")
    page.click("text=Give a verdict")
    expect(result).to_contain_text('column "amount": "a lot" is not a number')

    known = next(row for row in range(8, 40) if classifier.verdict(rows.iloc[[row]])["p_value"].item() > 0.3)
    fill_case(page, rows.iloc[known])
    page.click("text=Give a verdict")
    expect(result.locator("h3")).to_contain_text(classifier.verdict(rows.iloc[[known]])["verdict"].item())


def fill_case(page, row):
    for name in ("amount", "items", "gap"):
        page.get_by_label(name, exact=True).fill("" if pd.isna(row[name]) else str(row[name]))
    page.get_by_label("region", exact=True).select_option("(missing)" if row["region"] is None else str(row["region"]))
    page.get_by_label("member", exact=True).set_checked(bool(row["member"]))
    page.get_by_label("day", exact=True).fill(str(row["day"].date()))
