"""Models, keys and access."""

from __future__ import annotations

import json

from tests.serve.page.desk import as_csv, column, expect, paste, verdicts_on


def test_another_model_without_a_promise(page):
    page.select_option("#model", "sizes")
    expect(page.locator("#promise")).to_contain_text("promises nothing")
    expect(page.locator("#alpha-field")).to_be_disabled()
    paste(page, "width\n0.3\n-1.1\n\n500\n")
    assert len(verdicts_on(page)) == 3
    assert set(column(page, 3)) == {"\u2013"}


def test_a_service_with_a_key(page, address):
    def guarded(route):
        if route.request.headers.get("x-api-key") == "open sesame":
            route.continue_()
        else:
            body = json.dumps({"error": {"message": "a key is needed"}})
            route.fulfill(status=401, content_type="application/json", body=body)

    page.route("**/v1/**", guarded)
    page.goto(address)
    dialog = page.get_by_role("dialog", name="The service needs a key")
    dialog.get_by_label("Key").fill("wrong")
    dialog.get_by_text("Use this key").click()
    dialog.get_by_label("Key").fill("open sesame")
    dialog.get_by_text("Use this key").click()
    page.wait_for_selector("#promise:not(:empty)")
    assert page.evaluate("() => [Object.keys(localStorage).length, document.cookie]") == [0, ""]
    page.complaints.clear()  # the browser logs every answer of status 401


NAMELESS = """() => [...document.querySelectorAll('input, select, textarea, button, summary, canvas')]
    .filter((element) => !element.labels?.length && !element.ariaLabel && !element.textContent.trim())
    .map((element) => element.outerHTML)"""
DOUBLED = """() => {
    const ids = [...document.querySelectorAll('[id]')].map((element) => element.id);
    return ids.filter((id, place) => ids.indexOf(id) !== place);
}"""


def test_everything_has_a_name_and_a_place(page, rows):
    paste(page, as_csv(rows))
    assert page.evaluate(NAMELESS) == []
    assert page.evaluate(DOUBLED) == []
    for tag in ("header", "main", "footer", "nav", "h1"):
        assert page.locator(tag).count() == 1


def test_nothing_is_wider_than_the_window(page, rows):
    page.click("role=tab[name='A single case']")
    page.click("text=Give a verdict")
    page.wait_for_selector("#case-result ol")
    for tab in ("A single case", "A table of rows"):
        page.click(f"role=tab[name='{tab}']")
        for width in (390, 800, 1600):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth"), (tab, width)
    paste(page, as_csv(rows))
    page.set_viewport_size({"width": 390, "height": 900})
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
