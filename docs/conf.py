"""Settings of the documentation site: `sphinx-build -b html docs public/docs`."""

from importlib.metadata import version as installed_version

project, author, copyright = "Touchstone", "The Touchstone authors", "The Touchstone authors, Apache-2.0"       # noqa: A001  (names of Sphinx)
version = release = installed_version("touchstone-benchmark")
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme, html_title = "furo", f"Touchstone {version}"
exclude_patterns = ["_build", "conf.py"]
myst_heading_anchors = 3
nb_execution_mode = "off"                   # a test executes the notebooks
autodoc_typehints = "description"
autodoc_member_order = "bysource"
suppress_warnings = ["myst.xref_missing", "misc.highlighting_failure"]      # links to files of the repository; checked by a test
