"""Many rows on the page."""

from __future__ import annotations

import pandas as pd
import pytest

from tests.raw_tables import mixed_table
from tests.serve.page.desk import column, expect


@pytest.fixture(scope="session")
def large(tmp_path_factory):
    """100,000 rows; one far down cannot be read."""
    table, _ = mixed_table((100, 100, 50), seed=3)
    table = pd.concat([table] * 400, ignore_index=True)
    table["items"] = table["items"].astype(object)
    table.loc[60_000, "items"] = "twelve"
    path = tmp_path_factory.mktemp("large") / "large.csv"
    table.to_csv(path, index=False)
    return path


def test_a_hundred_thousand_rows(page, large):
    page.set_input_files("#file", large)
    settled_late(page)
    expect(page.locator("#page-range")).to_have_text("1 to 100 of 100,000 rows")
    expect(page.locator("#map-drawn")).to_have_text("One row in 5 is drawn.")
    page.click("#page-last")
    assert column(page, 0)[-1] == "100000"
    page.fill("#page-number", "500")
    page.press("#page-number", "Enter")
    assert column(page, 0)[0] == "49901"
    page.select_option("#page-size", "250")
    expect(page.locator("#page-total")).to_have_text("of 400")
    assert page.locator("tr").count() < 500
    page.click("th button:has-text('amount')")
    expect(page.locator("th", has=page.locator("button", has_text="amount"))).to_have_attribute(
        "aria-sort", "ascending"
    )
    amounts = [float(text) for text in column(page, 5)]
    assert amounts == sorted(amounts)
    page.fill("#search", "twelve")
    expect(page.locator("#page-range")).to_have_text("1 to 1 of 1 row")
    page.click("#verdicts-body button")
    expect(page.locator("#row-reason")).to_contain_text('column "items", row 60001: "twelve" is not a number')


def settled_late(page):
    page.wait_for_selector("#verdicts-body tr")
    page.wait_for_selector("#loading", state="hidden", timeout=60_000)


def test_stop_keeps_what_is_judged(page, large):
    answered = []

    def answer_once(route):
        answered.append(route)
        if len(answered) == 1:
            route.continue_()

    page.route("**/v1/predict*", answer_once)
    page.set_viewport_size({"width": 390, "height": 844})  # where all that comes is below what is in sight
    page.set_input_files("#file", large)
    page.wait_for_selector("#verdicts-body tr")
    expect(page.locator("#stop")).to_be_in_viewport()
    page.click("#stop")
    expect(page.locator("#status")).to_contain_text("Stopped: 10,000 rows")
    expect(page.locator("#problem")).to_be_hidden()
    expect(page.locator("#page-range")).to_have_text("1 to 100 of 10,000 rows")
