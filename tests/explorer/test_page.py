"""The page is put together from its parts."""

from __future__ import annotations

import re

from explorer_pages import Page
from patchfold.explorer.packing import ArrayStore
from patchfold.explorer.page import assemble


def test_the_program_has_no_imports_left() -> None:
    program = Page(assemble({}, ArrayStore())).texts["script"]
    assert not re.search(r"^(import|export)\b", program, re.MULTILINE)
