"""Configuration of the site: `make docs` builds it into build/site, without a network."""

import logging
import sys
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as version_of
from pathlib import Path

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "scripts")]

project, author, copyright = "jostle", "The jostle authors", "The jostle authors"
try:
    release = version_of("jostle")
except PackageNotFoundError:
    release = "source"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
myst_update_mathjax = False
exclude_patterns = ["pictures", "results/curves", "static"]
default_role = "literal"
autodoc_typehints = "description"
autodoc_member_order = "bysource"
suppress_warnings = ["myst.xref_missing_download"]

html_theme = "furo"
html_title = "jostle"
html_theme_options = {"navigation_with_keys": True}
html_show_sphinx = False
html_copy_source = False
html_static_path = ["static", "pictures/playground.webm"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"


def _mathml(tex: str, block: bool) -> str:
    """An equation as MathML; the bars of norms are as high as letters."""
    text = tex2mathml(tex, as_block=block)
    for start in ("<mo>", '<mo class="mathopen">', '<mo class="mathclose">'):
        text = text.replace(f"{start}‖</mo>", '<mo stretchy="false">‖</mo>')
    return text


def _inline_math(self: HTML5Translator, node: nodes.math) -> None:
    self.body.append(_mathml(node.astext(), block=False))
    raise nodes.SkipNode


def _block_math(self: HTML5Translator, node: nodes.math_block) -> None:
    self.body.append(self.starttag(node, "div", CLASS="math"))
    self.body.append(_mathml(node.astext(), block=True) + "</div>")
    raise nodes.SkipNode


def _patterns_may_be_empty(record: logging.LogRecord) -> bool:
    """Drop warnings about patterns that add pages to a table of contents if there are more."""
    return "toctree glob pattern" not in str(record.msg)


def setup(app: Sphinx) -> None:
    """Write the generated pages, and render equations as MathML, which needs no scripts."""
    from notebook_page import write_notebook_page
    from write_reference import write_reference

    logging.getLogger("sphinx.sphinx.directives.other").addFilter(_patterns_may_be_empty)
    docs = Path(__file__).parent
    write_reference(docs / "reference" / "generated")
    write_notebook_page(docs / "tutorials" / "notebook.ipynb", docs / "reference" / "generated")
    app.add_html_math_renderer("mathml", (_inline_math, None), (_block_math, None))
