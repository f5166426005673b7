"""The page at /, in a real browser against a real `gditd serve`."""

from __future__ import annotations

import csv
import io
import json
import os
import re
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

sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
pytest.importorskip("fastapi", reason='needs the service: pip install "gditd[serve]"')
expect = sync_api.expect


# --- a service, a browser, a page that must not misbehave ---


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


# --- reading CSV ---

PARSED = {
    "a,b\n1,2\n": [["a", "b"], ["1", "2"]],
    "a,b\r\n1,2": [["a", "b"], ["1", "2"]],
    "a,b\r1,2\r": [["a", "b"], ["1", "2"]],
    "\ufeffa;b\n1;2\n": [["a", "b"], ["1", "2"]],
    "a\tb\nx, y\t2\n": [["a", "b"], ["x, y", "2"]],
    "a|b\n1|\n": [["a", "b"], ["1", ""]],
    'a,b\n"1\n2","say ""no"""\n': [["a", "b"], ["1\n2", 'say "no"']],
    'a,b\n"1,2",5" pipe\n': [["a", "b"], ["1,2", '5" pipe']],
    'a;b\n"x;y";""\n\n\nz;1\n': [["a", "b"], ["x;y", ""], ["z", "1"]],
    "a\n1\n": [["a"], ["1"]],
}


def test_the_parser_reads_what_spreadsheets_write(page):
    script = "async (texts) => { const m = await import('/static/csv.js'); return texts.map((t) => m.parseCsv(t)); }"
    assert page.evaluate(script, list(PARSED)) == list(PARSED.values())


def test_the_parser_gives_the_same_records_however_the_text_is_cut(page):
    script = """async (texts) => {
        const { CsvParser, csvShape } = await import('/static/csv.js');
        return texts.map((text) => {
            const records = [];
            const parser = new CsvParser(csvShape(text).delimiter, (fields) => records.push(fields));
            for (const character of text) parser.push(character);
            parser.end();
            return records;
        });
    }"""
    assert page.evaluate(script, list(PARSED)) == list(PARSED.values())


def test_the_writer_gives_back_what_the_parser_takes(page):
    fields = ['say "no"', "a,b", "line\nbreak", " spaced ", "", "ä;|\t"]
    script = "async (f) => { const m = await import('/static/csv.js'); return m.parseCsv(m.csvLine(f), ','); }"
    assert page.evaluate(script, fields) == [fields]
    assert page.evaluate(script, [""]) == [[""]]


def test_a_quote_never_closed_is_an_error(page):
    page.fill("#paste", 'amount,items,region,member,day,gap\n"1,2\n')
    page.click("text=Give verdicts")
    expect(page.locator("#problem")).to_contain_text("row 1: a quote is opened and never closed")


def test_formulas_are_made_harmless_and_numbers_left_alone(page):
    texts = ["=1+1", "+a", "-5.2", "-x", "@SUM(A1)", "+3e5", "plain", ""]
    script = "async (t) => { const m = await import('/static/download.js'); return t.map(m.withoutFormula); }"
    assert page.evaluate(script, texts) == ["'=1+1", "'+a", "-5.2", "'-x", "'@SUM(A1)", "+3e5", "plain", ""]


# --- a table of rows ---


def test_pasted_rows_get_the_classifiers_verdicts(page, rows, classifier):
    paste(page, as_csv(rows))
    expected = classifier.verdict(rows)
    assert verdicts_on(page) == expected["verdict"].tolist()
    n_ood = int((expected["verdict"] == "OOD").sum())
    assert n_ood >= 8
    expect(page.locator("#ood-words")).to_have_text(f"{n_ood} of 40 rows belong to no known class")
    expect(page.locator("#status")).to_have_text(f"40 rows, {n_ood} OOD.")
    expect(page.locator("#promise")).to_contain_text("at most a share 0.05 of new rows of each known class")


@pytest.mark.parametrize("style", [{"sep": "\t"}, {"sep": ";", "decimal": ","}, {"header": False}])
def test_pasted_rows_in_other_styles(page, rows, classifier, style):
    paste(page, as_csv(rows, **style))
    assert verdicts_on(page) == classifier.verdict(rows)["verdict"].tolist()
    if "header" in style:
        expect(page.locator("#notes")).to_contain_text("no line of column names")


def test_a_chosen_file(page, rows, tmp_path):
    path = tmp_path / "Fälle.csv.gz"
    rows.assign(remark="<b>bold</b>").to_csv(path, index=False)
    page.set_input_files("#file", path)
    settled(page)
    assert len(verdicts_on(page)) == 40
    assert page.locator("#verdicts-body b").count() == 0
    assert page.locator("text=<b>bold</b>").count() == 40
    expect(page.locator("#notes")).to_contain_text('Not used, as the model does not know it: "remark"')
    assert downloaded(page, "#download-all")[0] == "Fälle-verdicts.csv"


def test_a_dropped_file(page, rows):
    transfer = page.evaluate_handle(
        "(text) => { const t = new DataTransfer(); t.items.add(new File([text], 'new.csv')); return t; }", as_csv(rows)
    )
    page.dispatch_event("#drop", "drop", {"dataTransfer": transfer})
    settled(page)
    expect(page.locator("#source-name")).to_have_text("new.csv")
    assert len(verdicts_on(page)) == 40


def test_the_example(page):
    page.click("text=Try an example")
    settled(page)
    assert len(verdicts_on(page)) == 4
    assert "OOD" in verdicts_on(page)[1:]


def test_filter_search_and_sort(page, rows, classifier):
    paste(page, as_csv(rows))
    verdicts = classifier.verdict(rows)["verdict"]
    page.click('[data-only="-1"]')
    expect(page.locator("#page-range")).to_contain_text(f"of {(verdicts == 'OOD').sum()} rows")
    assert set(verdicts_on(page)) == {"OOD"}
    expect(page.locator('[data-only="-1"]')).to_have_attribute("aria-pressed", "true")
    page.click('[data-only="all"]')

    page.fill("#search", "SOUTH")
    expect(page.locator("#page-range")).to_contain_text(f"of {(rows['region'] == 'south').sum()} rows")
    page.fill("#search", "")
    expect(page.locator("#page-range")).to_contain_text("of 40 rows")

    header = page.locator("th", has=page.locator("button", has_text="gap"))
    gaps = rows["gap"].reset_index(drop=True)
    for direction, ascending in (("ascending", True), ("descending", False)):
        header.locator("button").click()
        expect(header).to_have_attribute("aria-sort", direction)
        ordered = gaps.sort_values(ascending=ascending, kind="stable", na_position="last").index + 1
        assert [int(number) for number in column(page, 0)] == ordered.tolist()
    page.click("th button:has-text('Verdict')")
    assert verdicts_on(page) == sorted(verdicts, key=lambda verdict: (verdict != "OOD", verdict))


def test_another_alpha_gives_the_verdicts_of_that_alpha(page, rows, classifier):
    paste(page, as_csv(rows))
    for alpha in (0.02, 0.3, 0.7, 0.1):
        page.fill("#alpha-field", str(alpha))
        page.press("#alpha-field", "Tab")
        expect(page.locator("#promise")).to_contain_text(f"share {alpha}")
        page.wait_for_selector("#loading", state="hidden")
        expected = classifier.verdict(rows, alpha)["verdict"]
        expect(page.locator('[data-only="-1"]')).to_have_text(f"✕OOD {(expected == 'OOD').sum()}")
        assert verdicts_on(page) == expected.tolist()


def test_a_lower_alpha_asks_nothing_about_rows_of_their_nearest_class(page, rows, classifier):
    verdicts = classifier.verdict(rows)
    paste(page, as_csv(rows[verdicts["verdict"] == verdicts["known_class"]]))
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.locator("#alpha-slider").focus()
    for _ in range(5):
        page.keyboard.press("ArrowLeft")
    assert float(page.input_value("#alpha-field")) < 0.05
    page.wait_for_timeout(200)
    assert asked == []


def test_downloads(page, rows, classifier):
    given = rows.assign(note="=cmd()", verdict="mine")
    paste(page, as_csv(given))
    name, lines = downloaded(page, "#download-all")
    assert name == "pasted rows-verdicts.csv"
    added = ["verdict", "known_class", "p_value", "ood_score"]
    assert lines[0] == [*rows.columns, "note", "verdict (given)", *added]
    table = pd.DataFrame(lines[1:], columns=lines[0])
    assert set(table["note"]) == {"'=cmd()"}
    expected = classifier.verdict(rows)
    assert table["verdict"].tolist() == expected["verdict"].tolist()
    assert table["known_class"].tolist() == expected["known_class"].tolist()
    np.testing.assert_allclose(table["p_value"].astype(float), expected["p_value"])
    np.testing.assert_allclose(table["ood_score"].astype(float), expected["ood_score"], rtol=1e-5)
    np.testing.assert_allclose(table["amount"].astype(float), rows["amount"])
    page.click('[data-only="-1"]')
    expect(page.locator("#page-range")).not_to_contain_text("of 40")
    assert {line[-4] for line in downloaded(page, "#download-shown")[1][1:]} == {"OOD"}


def test_a_bad_value_names_its_column_and_row(page, rows):
    bad = rows.astype({"amount": object})
    bad.loc[6, "amount"] = "many"
    paste(page, as_csv(bad))
    assert verdicts_on(page)[6] == "OOD could not be read"
    page.click('[data-only="unread"]')
    expect(page.locator("#page-range")).to_have_text("1 to 1 of 1 row")
    page.click("#verdicts-body button")
    expect(page.locator("#row-reason")).to_contain_text('column "amount", row 7: "many" is not a number')


def test_a_missing_column_is_told(page, rows):
    paste(page, as_csv(rows))
    page.fill("#paste", as_csv(rows.drop(columns="region")))
    page.click("text=Give verdicts")
    expect(page.get_by_role("alert")).to_contain_text('"region"')
    expect(page.locator("#results")).to_be_hidden()


def test_what_the_service_refuses_is_told_with_its_place(page, rows):
    refused = {"error": {"message": "that is too much", "column": "amount", "row": 3}}
    page.route("**/v1/predict*", lambda route: route.fulfill(status=422, json=refused))
    page.fill("#paste", as_csv(rows))
    page.click("text=Give verdicts")
    expect(page.get_by_role("alert")).to_have_text('column "amount", row 3: that is too much')
    page.complaints.clear()  # the browser logs every answer of status 4xx


def test_a_service_that_is_gone_is_told(page, rows):
    page.route("**/v1/predict*", lambda route: route.abort())
    page.fill("#paste", as_csv(rows))
    page.click("text=Give verdicts")
    expect(page.get_by_role("alert")).to_contain_text("The service does not answer")
    page.complaints.clear()  # the browser logs every request that failed


def test_a_model_without_column_names_goes_by_position(page):
    script = """async ([names, known]) => {
        const { matchColumns } = await import('/static/matching.js');
        return matchColumns(names, known.map((name) => ({ name, kind: 'number' })));
    }"""
    assert page.evaluate(script, [["a", "b"], ["x0", "x1"]]) == ["x0", "x1"]
    assert page.evaluate(script, [["a", "x1", "x0"], ["x0", "x1"]]) == [None, "x1", "x0"]


def test_a_row_of_the_wrong_width_is_told(page):
    page.fill("#paste", "amount,items,region,member,day,gap\n1,2,west,true,2024-01-02,\n1,2,3\n")
    page.click("text=Give verdicts")
    expect(page.get_by_role("alert")).to_contain_text("row 2: 3 fields where the column names have 6")


def test_a_file_that_is_no_text(page, tmp_path):
    path = tmp_path / "table.parquet"
    path.write_bytes(b"PAR1")
    page.set_input_files("#file", path)
    expect(page.get_by_role("alert")).to_contain_text("save it as CSV")


# --- many rows ---


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


# --- the reason of a row, by keyboard ---


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


# --- a single case ---


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


# --- models, keys, access ---


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
