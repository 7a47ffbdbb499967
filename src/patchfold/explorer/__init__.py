"""The explorer: one self-contained page of embeddings, which works offline in any browser.

:func:`explore` fits embeddings over k, methods and divergences and puts them on a page;
:class:`Explorer` holds the page, which a notebook shows inline.
"""

from patchfold.explorer.explorer import Explorer, explore

__all__ = ["Explorer", "explore"]
