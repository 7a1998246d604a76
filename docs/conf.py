"""How Sphinx builds the site: ``make docs``."""

import re
import sys
import warnings
from pathlib import Path

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS))

from api_pages import write_api_index  # noqa: E402
from site_pages import follow_links, write_pages  # noqa: E402

import stablepred  # noqa: E402

project = "stablepred"
author = "The stablepred developers"
project_copyright = "The stablepred developers"
version = release = stablepred.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "_templates", "**/*.py.md5"]
templates_path = ["_templates"]

# --- Markdown ---

write_pages(DOCS)
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

# --- API pages, one per public name ---

write_api_index(DOCS / "api")
autosummary_generate = True
autodoc_typehints = "none"  # numpydoc's sections have the types
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
toc_object_entries_show_parents = "hide"
default_role = "code"

# --- gallery ---

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "ignore_pattern": r"(^|/)(?!plot_)[^/]*$",  # the other scripts take minutes, and draw nothing
    "within_subsection_order": "gallery_order.StoryOrder",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "capture_repr": ("_repr_html_",),
    "show_signature": False,
    "write_computation_times": False,
    "plot_gallery": "True",
    "abort_on_example_error": True,
}
warnings.filterwarnings("ignore", category=stablepred.exceptions.StablepredWarning)

# --- looks ---

html_theme = "pydata_sphinx_theme"
html_title = "stablepred"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_context = {"default_mode": "auto"}
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "show_prev_next": True,
    "show_nav_level": 1,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 6,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
# Pages that stand alone have no others beside them.
ALONE = (
    "index start when-to-use faq glossary evidence changelog code-of-conduct contributing security"
)
html_sidebars = {name: [] for name in ALONE.split()}


def is_ours(app, what, name, obj, skip, options):
    """Leave out what scikit-learn's base classes bring, which it documents itself."""
    if re.fullmatch(r"set_\w+_request|get_metadata_routing|check_stored", name):
        return True
    if re.match(r"Alias for field|Return (number of occ|first index)", obj.__doc__ or ""):
        return True  # what a named tuple brings
    function = getattr(obj, "fget", obj)
    home = getattr(function, "__module__", None) or "stablepred"
    return skip or not home.startswith("stablepred")


def escape(app, what, name, obj, options, lines):
    """Take |E|, ||beta|| and names_ as they are, not as substitutions and targets.

    A block that is indented under a paragraph is a formula, and shown as it is written.
    """
    for k in range(len(lines) - 1, 1, -1):
        before = lines[k - 2]
        under = before.strip() and not lines[k - 1].strip() and not before.rstrip().endswith("::")
        if under and lines[k].startswith(" " * (len(before) - len(before.lstrip()) + 4)):
            lines[k:k] = [lines[k][: -len(lines[k].lstrip()) - 4] + "::", ""]
    literal = None  # indentation of the line that announced a literal block
    for k, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if literal is not None and line.strip() and indent <= literal:
            literal = None
        if literal is None and ">>>" not in line:
            parts = re.split(r"(``.*?``)", line)
            parts[::2] = [re.sub(r"\||(?<=\w)_(?!\w)", r"\\\g<0>", part) for part in parts[::2]]
            lines[k] = "".join(parts)
        if line.rstrip().endswith("::") and literal is None:
            literal = indent


def read_links(app, name, source):
    """Follow links of Markdown pages out of this folder."""
    if (DOCS / f"{name}.md").exists() and not name.startswith("results/"):
        source[0] = follow_links(source[0])


def setup(app):
    """Connect to Sphinx."""
    app.connect("autodoc-skip-member", is_ours)
    app.connect("autodoc-process-docstring", escape, priority=400)  # before numpydoc
    app.connect("source-read", read_links)
