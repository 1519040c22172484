"""How Sphinx builds the documentation. No intersphinx: a build needs no network."""

import sys
from pathlib import Path

from mercer._version import __version__

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

# The gallery forgets no page by itself: one whose example was renamed would be a page that nothing leads to.
for page in (HERE / "gallery").glob("plot_*.rst"):
    if not (HERE.parent / "examples" / f"{page.stem}.py").exists():
        page.unlink()

project = "Mercer"
author = "The Mercer developers"
copyright = "The Mercer developers"
version = release = __version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.doctest",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "bars",
    "rooms",
]
exclude_patterns = ["_build", "**/README.rst"]
templates_path = ["_templates"]

autosummary_generate = True
autodoc_typehints = "signature"
autodoc_member_order = "groupwise"
# Made by scikit-learn on each estimator for metadata routing; its text points into scikit-learn's own pages.
autodoc_default_options = {
    "exclude-members": ", ".join(
        f"set_{name}_request" for name in ("fit", "inverse_transform", "partial_fit", "predict", "score", "transform")
    )
    + ", get_metadata_routing",
}
# Methods are on the page of their class; numpydoc would list them a second time.
numpydoc_show_class_members = False

myst_heading_anchors = 3
# The design page numbers its sections by hand, and its first line is its title.
suppress_warnings = ["myst.header"]

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"(__init__|demo)\.py$",
    "download_all_examples": False,
    "show_memory": False,
    "within_subsection_order": "FileNameSortKey",
    "remove_config_comments": True,
    "plot_gallery": True,
}

html_theme = "pydata_sphinx_theme"
html_title = "Mercer"
html_show_sourcelink = False
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
