"""The index of the API pages, from what the public modules list in ``__all__``."""

import inspect
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

# Public modules and how they are introduced.
MODULES = {
    "stablepred": "Estimators, measures and verdicts",
    "stablepred.data": "Tables, environments and synthetic worlds",
    "stablepred.search": "Tuning without test environments",
    "stablepred.baselines": "Methods of the field",
    "stablepred.plotting": "Displays",
    "stablepred.theory": "The paper's section 4 in functions",
    "stablepred.distributed": "Rows in several processes",
    "stablepred.exceptions": "Errors and warnings",
}


def public_names() -> dict[str, list[str]]:
    """The public names of each module that is there."""
    found = {}
    for name in MODULES:
        if find_spec(name) is None:
            continue
        module = import_module(name)
        listed = getattr(module, "__all__", None) or [
            key
            for key, value in vars(module).items()
            if inspect.isclass(value) and value.__module__ == name
        ]
        names = [key for key in sorted(listed) if not key.startswith("__")]
        # What two modules offer has its page under the first.
        found[name] = [key for key in names if all(key not in others for others in found.values())]
    return found


def write_api_index(folder: Path) -> None:
    """Write ``index.rst``, from which autosummary makes one page per name."""
    title = "API reference"
    lines = [title, "=" * len(title), ""]
    for module, names in public_names().items():
        heading = f"{module}: {MODULES[module][0].lower()}{MODULES[module][1:]}"
        lines += [heading, "-" * len(heading), "", f".. currentmodule:: {module}", ""]
        lines += [".. autosummary::", "   :toctree: .", ""]
        lines += [f"   {name}" for name in names] + [""]
    folder.mkdir(exist_ok=True)
    text = "\n".join(lines)
    index = folder / "index.rst"
    if not index.exists() or index.read_text() != text:
        index.write_text(text)
