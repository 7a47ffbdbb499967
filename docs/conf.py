"""How the site is built: ``make docs``, warnings are errors, nothing is fetched while it builds."""

from __future__ import annotations

import os
import sys
from importlib.metadata import version as installed_version
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "_ext"))

# One BLAS thread a process: examples are small, and results do not depend on it.
os.environ.setdefault("OMP_NUM_THREADS", "1")

project = "patchfold"
author = "The patchfold developers"
project_copyright = author
release = version = installed_version("patchfold")

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.mathjax",
    "sphinx_gallery.gen_gallery",
    "numpydoc",
    "myst_parser",
    "sphinx_copybutton",
    "sphinx_design",
    "api_pages",
]

exclude_patterns = [
    "_*",
    "gallery/**/*.ipynb",
    "gallery/**/*.py",
    "gallery/**/*.md5",
    "gallery/pages",
]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
default_role = "code"

# Markdown
myst_enable_extensions = ["amsmath", "colon_fence", "dollarmath", "deflist"]
myst_heading_anchors = 4

# The site
html_theme = "pydata_sphinx_theme"
html_title = "patchfold"
html_favicon = "_static/mark.svg"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["phone.js"]
html_extra_path = ["llms.txt", "gallery/pages"]
(HERE / "gallery" / "pages").mkdir(parents=True, exist_ok=True)  # explorer pages of examples
html_copy_source = False
html_theme_options = {
    "logo": {
        "text": "patchfold",
        "image_light": "_static/mark.svg",
        "image_dark": "_static/mark.svg",
    },
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
# Pages that need the room: no list of sections beside them.
html_sidebars = {
    name: [] for name in ("index", "start", "which-method", "method/*", "fails", "faq", "changelog")
}
html_show_sourcelink = False

# Equations are drawn in the browser by MathJax, whose one file comes from the package registry.
_mathjax = find_spec("sphinx-mathjax-offline")
if _mathjax is None or _mathjax.origin is None:
    raise RuntimeError("sphinx-mathjax-offline is not installed; run: make docs")
html_static_path.append(str(Path(_mathjax.origin).parent / "static" / "mathjax" / "tex-svg.js"))
mathjax_path = "tex-svg.js"

# Links into other projects' pages go by the inventories kept here, so no build needs the network.
intersphinx_mapping = {
    "python": ("https://docs.python.org/3", "_inventories/python.inv"),
    "scipy": ("https://docs.scipy.org/doc/scipy", "_inventories/scipy.inv"),
    "sklearn": ("https://scikit-learn.org/stable", "_inventories/sklearn.inv"),
}

# The pages of the API
autodoc_typehints = "none"
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"  # beside a page there is no room for the class's name
autosummary_generate = False
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# The gallery
sphinx_gallery_conf = {
    "examples_dirs": ["../examples/gallery"],
    "gallery_dirs": ["gallery"],
    "filename_pattern": "/plot_",
    "within_subsection_order": "FileNameSortKey",
    "image_scrapers": ("matplotlib", "explorer_pages.scrape"),
    "capture_repr": ("__repr__",),
    "ignore_repr_types": r"matplotlib|Explorer",  # pictures and pages are shown, not named
    "reset_modules": ("matplotlib", "explorer_pages.reset"),
    "doc_module": ("patchfold",),
    "reference_url": {"patchfold": None},
    "backreferences_dir": "gallery/backreferences",
    "matplotlib_animations": False,
    "remove_config_comments": True,
    "thumbnail_size": (640, 300),
    "abort_on_example_error": True,
    "show_memory": False,
    "write_computation_times": False,
    "show_signature": False,
    "download_all_examples": False,
    "plot_gallery": "True",
}
