"""The page is put together from its parts."""

from __future__ import annotations

import re

from explorer_pages import Page
from patchfold.explorer.packing import ArrayStore
from patchfold.explorer.page import assemble


def test_the_program_is_one_piece() -> None:
    program = Page(assemble({}, ArrayStore())).texts["script"]
    assert not re.search(r"(^|[;}])(import|export)[\s{*\"']|\bimport\(", program, re.MULTILINE)


def test_nothing_in_the_program_ends_its_element() -> None:
    program = Page(assemble({}, ArrayStore())).texts["script"]
    assert not re.search(r"</script|<!--", program, re.IGNORECASE)
