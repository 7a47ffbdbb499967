"""The page in a real browser: pictures and texts of the points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from sklearn.datasets import load_digits

from patchfold import explore

if TYPE_CHECKING:
    from pathlib import Path

    from page_reader import Reader

# One worker has the browser.
pytestmark = pytest.mark.xdist_group("browser")

N = 150
LINK = "https://example.org/a?b=1"


@pytest.fixture(scope="module")
def digits_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    digits = load_digits()
    texts = [f"Number {row}. " + "A long text. " * 40 + f"See {LINK}." for row in range(N)]
    texts[3] = "javascript:alert(1) <b>bold</b>"
    page = explore(
        digits.data[:N],
        digits.target[:N],
        text=texts,
        n_neighbors=[8],
        divergences=["kl"],
        title="digits",
    )
    return page.save(tmp_path_factory.mktemp("digits") / "digits.html")


@pytest.fixture
def at_digits(visit: Any, digits_file: Path) -> Reader:
    return visit(digits_file)


def point(reader: Reader, row: int) -> None:
    reader.ask("(row) => patchfold.point(row, { clientX: 300, clientY: 300 })", row)


# Whether a canvas has been drawn on. A copy is looked at, as a browser warns of many looks.
INKED = """() => {
  const canvas = document.querySelector("%s");
  const { width, height } = canvas;
  const pen = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
  pen.drawImage(canvas, 0, 0);
  return pen.getImageData(0, 0, width, height).data.some((value) => value > 0);
}"""


def test_the_card_shows_the_picture_of_its_row_and_few_other_rows(at_digits: Reader) -> None:
    digits = load_digits().data
    for row in (0, 7):
        point(at_digits, row)
        at_digits.wait(INKED % "#card .picture")
        pixels = at_digits.ask(
            """() => {
              const canvas = document.querySelector("#card .picture");
              const step = canvas.width / 8;
              const { width, height } = canvas;
              const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
              return Array.from({ length: 64 }, (_, i) => {
                const [x, y] = [i % 8, i >> 3].map((at) => Math.floor((at + 0.5) * step));
                return data[4 * (y * width + x)];
              });
            }"""
        )
        expected = 255 * digits[row] / digits[:N].max()
        np.testing.assert_allclose(pixels, expected, atol=1, err_msg=f"row {row}")
    assert at_digits.ask("() => patchfold.pictures.ready.size") == 1
    terms = at_digits.page.locator("#card dt").all_text_contents()
    assert terms[0] == "target"
    assert len([term for term in terms if not term.startswith("trust")]) <= 6


def test_the_selection_is_a_contact_sheet(at_digits: Reader) -> None:
    at_digits.ask("() => patchfold.select([...Array(100).keys()])")
    sheet = at_digits.page.locator("#sheet canvas")
    assert sheet.is_visible()
    assert not at_digits.page.locator("#table").is_visible()
    assert sheet.get_attribute("aria-label") == "Pictures of the 100 selected rows"
    at_digits.wait(INKED % "#sheet canvas")
    inked = at_digits.ask(
        """() => {
          const canvas = document.querySelector("#sheet canvas");
          const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
          return data.filter((value, i) => i % 4 === 3 && value === 255).length;
        }"""
    )
    assert inked > 10 * 56 * 56
    box = sheet.bounding_box()
    at_digits.page.mouse.move(box["x"] + 12 + 62 + 20, box["y"] + 30)
    assert at_digits.ask("() => patchfold.pointed") == 1
    assert at_digits.page.locator("#card").is_visible()
    at_digits.page.locator("#sheet").evaluate("(e) => e.scrollTo(0, 62)")
    at_digits.page.mouse.click(box["x"] + 20, box["y"] + 30)
    columns = at_digits.ask("() => patchfold.sheet.columns")
    assert at_digits.ask("() => patchfold.ends") == [columns]
    at_digits.page.locator("#as-table").click()
    assert at_digits.page.locator("#table").is_visible()
    assert not sheet.is_visible()


def test_pictures_that_come_late_do_not_cover_others(at_digits: Reader) -> None:
    pictures = at_digits.ask(
        """async () => {
          const { sheet, pictures } = patchfold;
          patchfold.select([...Array(100).keys()]);
          await sheet.draw();
          const canvas = document.querySelector("#sheet canvas");
          const expected = canvas.toDataURL();
          const load = pictures.load;
          let arrive;
          pictures.load = () => new Promise((done) => (arrive = done));
          sheet.rows = [...Array(50).keys()].map((row) => 149 - row);
          const late = sheet.draw(); // waits
          pictures.load = load;
          sheet.rows = [...Array(100).keys()];
          await sheet.draw();
          arrive();
          await late;
          return [expected, canvas.toDataURL()];
        }"""
    )
    assert pictures[0] == pictures[1]


def test_texts_are_read_in_full_and_addresses_of_the_web_are_links(at_digits: Reader) -> None:
    at_digits.page.mouse.move(*at_digits.place(7, 0))
    row = at_digits.ask("() => patchfold.pointed")
    card = at_digits.page.locator("#card")
    assert (
        card.locator(".text").text_content()
        == f"Number {row}. " + "A long text. " * 40 + f"See {LINK}."
    )
    at_digits.page.mouse.down()
    at_digits.page.mouse.up()
    link = card.locator("a")
    assert link.get_attribute("href") == LINK
    assert link.get_attribute("rel") == "noopener noreferrer"
    # The card stays, so that the link can be reached.
    at_digits.page.mouse.move(5, 5)
    assert link.is_visible()
    link.click(trial=True)
    at_digits.page.keyboard.press("Escape")
    assert not card.is_visible()
    point(at_digits, 3)
    assert card.locator(".text").text_content() == "javascript:alert(1) <b>bold</b>"
    assert card.locator("a, b").count() == 0


def test_a_contact_sheet_fits_on_a_phone(visit: Any, digits_file: Path) -> None:
    reader = visit(digits_file, (390, 844), touch=True)
    reader.ask("() => patchfold.select([...Array(100).keys()])")
    reader.settle()
    assert reader.ask("() => [document.documentElement.scrollWidth, innerWidth]") == [390, 390]
    for button in ("#as-table", "#export", "#clear"):
        box = reader.page.locator(button).bounding_box()
        assert box["x"] >= 0, button
        assert box["x"] + box["width"] <= 390, button
