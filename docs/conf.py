"""Configuration of the site: `make docs` builds it into build/site, without a network."""

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
# Patterns at the end of tables of contents add pages that are not listed above; often none.
suppress_warnings = ["myst.xref_missing_download", "toc.empty_glob"]

html_theme = "furo"
html_title = "jostle"
html_theme_options = {"navigation_with_keys": True}
html_show_sphinx = False
html_copy_source = False
html_static_path = ["static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"


def _inline_math(self: HTML5Translator, node: nodes.math) -> None:
    self.body.append(tex2mathml(node.astext()))
    raise nodes.SkipNode


def _block_math(self: HTML5Translator, node: nodes.math_block) -> None:
    self.body.append(self.starttag(node, "div", CLASS="math"))
    self.body.append(tex2mathml(node.astext(), as_block=True) + "</div>")
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    """Write the generated pages, and render equations as MathML, which needs no scripts."""
    from notebook_page import write_notebook_page
    from write_reference import write_reference

    docs = Path(__file__).parent
    write_reference(docs / "reference" / "generated")
    write_notebook_page(docs / "tutorials" / "notebook.ipynb", docs / "reference" / "generated")
    app.add_html_math_renderer("mathml", (_inline_math, None), (_block_math, None))
