"""The page at `/`, as a browser shows it."""

import csv
import io
import re
from pathlib import Path
from typing import Any

import pytest

from nbtext.text_classifier import TextClassifier

Running = Any  # see conftest.py
Start = Any
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"
TEXT = "The bins in our street were not emptied again, and the trash truck passed by."


@pytest.fixture
def visit(chromium: Any) -> Any:
    """visit(service, width=1280, scheme="light"): the page; it may complain of nothing and ask only
    its own service.
    """
    contexts = []
    complaints = []

    def go(
        service: Running, *, width: int = 1280, scheme: str = "light", is_calm: bool = True
    ) -> Any:
        context = chromium.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme
        )
        contexts.append(context)
        page = context.new_page()
        own = f"http://127.0.0.1:{service.port}/"
        if is_calm:
            page.on("console", lambda message: complaints.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (complaints.append("a dialog"), dialog.dismiss()))
        page.on(
            "request",
            lambda request: (
                None
                if request.url.startswith((own, f"blob:{own}"))
                else complaints.append(f"asked for {request.url}")
            ),
        )
        page.goto(own)
        page.locator("textarea, #token-form:not([hidden])").first.wait_for()
        return page

    yield go
    for context in contexts:
        context.close()
    assert complaints == []


def type_text(page: Any, text: str) -> None:
    """Put a text into the field, and wait for its labels."""
    before = page.locator("#marked").text_content()
    page.locator("textarea").fill(text)
    page.locator("#result").wait_for()
    wait_until(page, "before => document.getElementById('marked').textContent !== before", before)


def wait_until(page: Any, function: str, argument: Any = None) -> None:
    """Wait until a JavaScript function is true. `wait_for_function` needs `eval`, which the page's
    policy forbids.
    """
    for _ in range(600):
        if page.evaluate(function, argument):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"never true: {function}")


def serious(page: Any) -> list[str]:
    """What axe finds that is serious or critical."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(
        page, options={"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]}
    )
    return [
        f"{each['id']}: {node['html']}"
        for each in found.response["violations"]
        for node in each["nodes"][:3]
    ]


def test_labels_and_words_while_typing(visit: Any, service: Running) -> None:
    """The labels are those of the service; words for the label and against it are marked."""
    page = visit(service)
    page.locator("textarea").press_sequentially("my neighbour drills", delay=20)
    page.locator("#result").wait_for()
    wait_until(
        page, "() => document.getElementById('marked').textContent === 'my neighbour drills'"
    )
    expected = service.predict({"text": "my neighbour drills"})
    assert page.locator("#summary").inner_text().startswith(f"{expected['label']}: ")
    rows = page.locator("#labels tbody tr")
    assert rows.count() == len(expected["scores"])
    assert rows.first.locator("th").inner_text() == expected["label"]
    assert (
        rows.first.locator(".bar span").bounding_box()["width"]
        > rows.last.locator(".bar span").bounding_box()["width"]
    )
    assert {"neighbour", "my"} & set(page.locator("#words tbody th").all_inner_texts())
    assert page.locator("#marked mark").count() > 0
    type_text(page, TEXT)
    assert page.locator("#summary").inner_text().startswith("trash: ")
    assert page.locator("#marked").inner_text() == TEXT
    page.locator("textarea").fill("")
    page.locator("#result").wait_for(state="hidden")
    page.locator("textarea").fill("!")
    page.get_by_text("0% of the words are known").wait_for()


@pytest.mark.exhaustive
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (360, "dark")])
def test_everybody_can_use_it(
    visit: Any, service: Running, tmp_path: Path, width: int, scheme: str
) -> None:
    """On a phone and in the dark: all fits, and axe finds nothing."""
    page = visit(service, width=width, scheme=scheme)
    assert serious(page) == []
    type_text(page, TEXT)
    (tmp_path / "t.csv").write_text("id,text\n1,bins\n")
    page.locator("#file").set_input_files(tmp_path / "t.csv")
    page.locator("#table-form").wait_for()
    assert serious(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    color = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", color)[:3])) < 200) == (scheme == "dark")


def test_by_keyboard(visit: Any, service: Running, tmp_path: Path) -> None:
    """The Tab key reaches everything in order; a file is labeled without a mouse."""
    page = visit(service)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.tagName") == "TEXTAREA"
    page.keyboard.type("the bins")
    page.locator("#result").wait_for()
    (tmp_path / "t.csv").write_text("text\nbins\n")
    page.locator("#file").set_input_files(tmp_path / "t.csv")
    page.locator("#column-0").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.locator("#download").wait_for()
    wait_until(page, "() => document.activeElement.id === 'download'")


def label_csv(page: Any, path: Path) -> bytes:
    """What the page makes of a file that is dropped on it."""
    data = page.evaluate_handle(
        """([name, bytes]) => { const data = new DataTransfer();
        data.items.add(new File([new Uint8Array(bytes)], name, { type: "text/csv" })); return data; }""",
        [path.name, list(path.read_bytes())],
    )
    page.dispatch_event("#drop", "dragover", {"dataTransfer": data})
    page.dispatch_event("#drop", "drop", {"dataTransfer": data})
    page.locator("#table-form").wait_for()
    page.locator("#start").click()
    with page.expect_download() as download:
        page.locator("#download").click()
    assert download.value.suggested_filename == path.name.replace(".csv", "-labeled.csv")
    return bytes(Path(download.value.path()).read_bytes())


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("delimiter", "end", "mark"),
    [(",", "\n", ""), (";", "\r\n", "\ufeff"), ("\t", "\n", ""), (",", "\r", "")],
)
def test_a_csv_comes_back(
    visit: Any, service: Running, tmp_path: Path, letters: Any, delimiter: str, end: str, mark: str
) -> None:
    """Each row as it was, with the service's label and probability; more rows than one request
    takes.
    """
    texts = [*letters[0][:300], f'quotes "and"{delimiter}, newline{end}in it', "", "café ü", "!"]
    buffer = io.StringIO()
    # which leaves line feeds bare there
    quoting = csv.QUOTE_ALL if end == "\r" else csv.QUOTE_MINIMAL
    writer = csv.writer(buffer, delimiter=delimiter, lineterminator=end, quoting=quoting)
    writer.writerow(["id", "label", "letter body"])
    for number, text in enumerate(texts):
        writer.writerow([f"#{number}", f'"{number}" ', text])
    path = tmp_path / "table.csv"
    path.write_bytes((mark + buffer.getvalue()).encode())
    answer = label_csv(visit(service), path).decode()
    assert answer.startswith(mark)
    before = list(csv.reader(io.StringIO(buffer.getvalue(), newline=""), delimiter=delimiter))
    after = list(
        csv.reader(io.StringIO(answer.removeprefix(mark), newline=""), delimiter=delimiter)
    )
    assert [row[:3] for row in after] == before
    assert after[0][3:] == ["predicted_label", "probability"]
    expected = service.predict([row[2] for row in before[1:]])
    assert [row[3] for row in after[1:]] == [each["label"] or "" for each in expected]
    assert [float(row[4]) for row in after[1:] if row[4]] == [
        e["probability"] for e in expected if e["label"]
    ]
    place = 0
    start = f'{end}"#' if quoting == csv.QUOTE_ALL else f"{end}#"
    for record in buffer.getvalue().split(start)[1:]:  # the ids begin with it
        place = answer.index(f"#{record.removesuffix(end)}{delimiter}", place)


def test_hostile_texts_and_labels(visit: Any, start: Start, tmp_path: Path) -> None:
    """Markup is text, and a label that a spreadsheet would run as a formula has an apostrophe."""
    path = tmp_path / "hostile.joblib"
    TextClassifier(model="multinomial").fit(
        ["red script", "blue alert", "green img"], [HOSTILE, "=1+1", "'\"><b>"]
    ).save(path)
    service = start("-m", path, "-m", f"other={path}")
    page = visit(service)
    type_text(page, f"red {HOSTILE}")
    assert page.locator("#marked").inner_text() == f"red {HOSTILE}"
    assert HOSTILE in page.locator("#labels tbody th").all_inner_texts()
    assert page.locator("img, script:not([src]), b").count() == 0
    (tmp_path / "t.csv").write_text(f'text\nblue\n"red {HOSTILE}"\n')
    rows = list(csv.reader(io.StringIO(label_csv(page, tmp_path / "t.csv").decode())))
    assert [row[1] for row in rows] == ["label", "'=1+1", HOSTILE]
    assert page.locator("#model").is_visible()


def test_words_of_each_of_several_labels(visit: Any, start: Start, tmp_path: Path) -> None:
    """Each predicted label has its own words; the choice of a label stays while the text
    changes.
    """
    words = {"fruit": "apple pear plum", "car": "wheel engine road", HOSTILE: "script alert boat"}
    lists = [[one, other] if one != other else [one] for one in words for other in words] * 6 + [
        []
    ] * 12
    texts = [" ".join(words[label] for label in labels) + " and the other" for labels in lists]
    TextClassifier().fit(texts, lists).save(tmp_path / "topics.joblib")
    page = visit(start("-m", tmp_path / "topics.joblib"))
    type_text(page, "apple pear wheel engine the")
    predicted = page.locator("#summary").inner_text()
    assert "fruit: " in predicted and "car: " in predicted
    options = page.locator("#why-label option").all_inner_texts()
    assert sorted(options) == ["car", "fruit"]
    assert serious(page) == []
    for label, own, other in (("car", "wheel", "apple"), ("fruit", "apple", "wheel")):
        page.locator("#why-label").select_option(label)
        assert (
            page.locator("#why-text")
            .inner_text()
            .startswith(f"Words for {label}, and (underlined) against it.")
        )
        assert own in page.locator("#marked mark[class^=for]").all_inner_texts()
        assert other not in page.locator("#marked mark[class^=for]").all_inner_texts()
        assert page.locator("#words tbody th").first.inner_text() in words[label].split()
    type_text(page, "apple pear wheel engine plum the")
    assert (
        page.locator("#why-label").evaluate("select => select.selectedOptions[0].textContent")
        == "fruit"
    )
    type_text(page, "script alert boat")
    assert page.locator("#why-text").inner_text().startswith(f"Words for {HOSTILE}, and")
    assert page.locator("#why-choice").is_hidden()


def test_a_token(visit: Any, start: Start, model: Path, tmp_path: Path) -> None:
    """The page asks for it; a wrong one is refused, and it is kept nowhere."""
    (tmp_path / "tokens").write_text("correct-horse\n")
    page = visit(start("-m", model, "--token-file", tmp_path / "tokens"), is_calm=False)
    page.locator("#token-form").wait_for()
    page.locator("#token").fill("wrong-horse")
    page.keyboard.press("Enter")
    page.get_by_role("alert").wait_for()
    page.locator("#token").fill("correct-horse")
    page.keyboard.press("Enter")
    page.locator("textarea").wait_for()
    type_text(page, TEXT)
    assert (
        page.evaluate("localStorage.length + sessionStorage.length + document.cookie.length") == 0
    )


def test_the_policy(service: Running) -> None:
    """Nothing but the page's own files runs; no other page may show it, and nothing inline is in
    it.
    """
    answer = service.get("/")
    policy = answer.headers["content-security-policy"]
    directives = dict(each.strip().split(" ", 1) for each in policy.split(";"))
    assert directives["default-src"] == "'none'"
    assert (
        directives["script-src"] == directives["style-src"] == directives["connect-src"] == "'self'"
    )
    assert (
        directives["frame-ancestors"]
        == directives["base-uri"]
        == directives["form-action"]
        == "'none'"
    )
    assert "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    html = answer.body.decode()
    assert not re.search(r"<style|\bstyle=|\bon\w+=|<script(?![^>]*\bsrc=)|javascript:", html)
    script = service.get("/page.js").body.decode() + service.get("/csv.js").body.decode()
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|Function\(", script
    )


def test_what_is_forbidden_is_forbidden(visit: Any, service: Running) -> None:
    """An inline script that got into the page would not run, and could send nothing elsewhere."""
    page = visit(service, is_calm=False)
    page.evaluate(
        "() => { const s = document.createElement('script'); try { s.textContent = 'window.ran = 1'; } catch {}"
        " document.body.append(s); }"
    )
    assert page.evaluate("window.ran") is None
    assert (
        page.evaluate("fetch('http://127.0.0.1:1/').then(() => 'sent', () => 'blocked')")
        == "blocked"
    )
