"""The page in a real browser: any column is found by its name, and then colours the points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from page_reader import exported
from patchfold import explore

if TYPE_CHECKING:
    from pathlib import Path

    from page_reader import Reader

# One worker has the browser.
pytestmark = pytest.mark.xdist_group("browser")

N, GENES = 80, 300


@pytest.fixture(scope="module")
def expression() -> Any:
    rng = np.random.default_rng(0)
    return rng.poisson(0.5, (N, GENES)) * rng.gamma(2.0, size=(N, GENES)).round(2)


@pytest.fixture(scope="module")
def genes_file(expression: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    names = [f"GENE{place}" for place in range(GENES)]
    page = explore(
        expression, list("ab") * (N // 2), feature_names=names, n_neighbors=[8], divergences=["kl"]
    )
    return page.save(tmp_path_factory.mktemp("genes") / "genes.html")


@pytest.fixture
def at_genes(visit: Any, genes_file: Path) -> Reader:
    return visit(genes_file)


def find(reader: Reader, words: str) -> None:
    field = reader.page.locator("#find-column")
    field.fill(words)
    field.press("Enter")


def test_a_gene_is_found_by_typing_and_colours_the_points(
    at_genes: Reader, expression: Any
) -> None:
    field = at_genes.page.locator("#find-column")
    assert "304 columns" in field.get_attribute("placeholder")  # with what patches know, and y
    field.fill("gene27")
    listed = at_genes.page.locator("#found-columns li").all_text_contents()
    assert sorted(listed) == sorted(["GENE27", *(f"GENE27{digit}" for digit in range(10))])
    # Nothing of it is unpacked before it is asked for.
    place = at_genes.ask("() => [...patchfold.further.keys()].indexOf('GENE277')")
    assert place >= 0
    assert at_genes.ask("() => patchfold.columns.every(({ name }) => !name.startsWith('GENE'))")
    find(at_genes, "gene277")
    at_genes.wait("() => patchfold.columns.at(-1).name === 'GENE277'")
    values = at_genes.ask("() => [...patchfold.coloring.values]")
    np.testing.assert_allclose(values, expression[:, 277], atol=np.ptp(expression) / 65535)
    assert at_genes.page.locator("#colour").input_value() == "GENE277"
    at_genes.ask("() => patchfold.select([3, 4])")
    assert "GENE277" in at_genes.text("#table .head")
    rows = exported(at_genes)
    assert [float(row["GENE277"]) for row in rows] == pytest.approx(
        expression[3:5, 277].tolist(), abs=1e-3
    )


def test_the_keys_choose_from_the_list_and_a_click_too(at_genes: Reader) -> None:
    field = at_genes.page.locator("#find-column")
    field.fill("gene1")
    names = at_genes.page.locator("#found-columns li").all_text_contents()
    field.press("ArrowDown")
    field.press("ArrowDown")
    field.press("Enter")
    at_genes.wait(f"() => patchfold.columns.at(-1).name === '{names[2]}'")
    field.fill("gene1")
    at_genes.page.locator("#found-columns li").nth(5).click()
    at_genes.wait(f"() => patchfold.columns.at(-1).name === '{names[5]}'")
    assert at_genes.page.locator("#found-columns").is_hidden()
    field.fill("no such gene")
    assert "no column" in at_genes.text("#found-columns li")


def test_the_address_brings_back_a_gene(at_genes: Reader) -> None:
    find(at_genes, "gene42")
    at_genes.wait("() => location.hash.includes('colour=GENE42')")
    address = at_genes.page.url
    at_genes.open(address)
    at_genes.wait("() => document.getElementById('colour').value === 'GENE42'")
