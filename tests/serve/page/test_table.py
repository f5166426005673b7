"""A table of rows on the page."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tests.serve.page.desk import as_csv, column, downloaded, expect, paste, settled, verdicts_on


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


def test_texts_with_commas_stay_where_numbers_have_decimal_commas(page, rows, classifier):
    paste(page, as_csv(rows.assign(size="1,5"), sep=";", decimal=","))
    assert verdicts_on(page) == classifier.verdict(rows)["verdict"].tolist()
    assert page.locator('#verdicts-body td:text-is("1,5")').count() == 40


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
