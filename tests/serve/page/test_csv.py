"""The page reads CSV as the service does."""

from __future__ import annotations

from tests.serve.page.desk import expect

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
