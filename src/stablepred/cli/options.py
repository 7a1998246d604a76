"""Arguments and options of all commands: the help of each, and what it takes."""

from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

STANDARD = Path("-")  # standard input or output

Method = Literal["stable", "lr", "dlr", "gbr", "dgbr", "dgbr-paper"]

# The help of each by its name, after that of the command where it is of one command only.
HELP = {
    "table": "CSV (also .gz) or Parquet file; - is standard input.",
    "tables": "CSV or Parquet files with the outcome.",
    "model": "Folder that 'stablepred fit' wrote.",
    "target": "Outcome column, if its name differs from that in training.",
    "by": "Column whose values are the environments; numbers are cut into bins.",
    "bins": "Edges for a numeric --by column, as 20,30,40 for [20, 30) and so on; else quartiles.",
    "min_rows": "With --by, leave out environments with fewer rows.",
    "drop": "Column to leave out; may be repeated, or several separated by commas.",
    "settings": "A parameter of the method, for example --set max_iter=200; may be repeated.",
    "seed": "Seed of everything that is random.",
    "output": "CSV file to write; - is standard output.",
    "force": "Replace an older output.",
    "debug": "Show a traceback on errors.",
    "compare train": "CSV or Parquet file to train on.",
    "compare tests": "Files to test on; each is an environment.",
    "compare target": "Outcome column: two values, or a number.",
    "compare methods": "Names of methods, separated by commas; all by default.",
    "compare output": "Folder for tables, a picture, and the finished methods.",
    "demo bias_on": "What the biased features follow: the outcome, or its noise-free part.",
    "demo rate": "Bias rate r of the training environment.",
    "demo rows": "Rows of the training environment.",
    "demo test_rows": "Rows of each test environment.",
    "demo seed": "Seed of data and methods.",
    "demo output": "Folder for the table, the figure and the report.",
    "evaluate max_stability": "Exit code 1 above it, or if the model is no better than a constant.",
    "fit target": "Outcome column: two values; with stable, also several classes or a number.",
    "fit output": "Folder for the model.",
    "fit method": "stable leaves out what cannot be relied on; gbr and dgbr are the paper's "
    "methods (dgbr-paper to the letter); lr and dlr are the same without balancing.",
    "fit by": "Column that tells training environments apart (stable only).",
    "fit positive": "Value of the target to predict; by default the last one.",
    "fit cv": "Folds for the cross-validated error of the model; 0 skips it.",
    "fit skip_missing_target": "Leave out rows without an outcome.",
    "report output": "HTML file to write; - is standard output.",
    "reproduce names": "What to run; without a name, the list of studies is shown.",
    "reproduce seeds": "Number of seeds: 10, or 2 with --quick.",
    "reproduce first_seed": "First seed; those of the published tables start at 1000.",
    "reproduce quick": "A small version, to see that it runs.",
    "reproduce tuned": "Also tune the methods: figure 4, and on three seeds worlds of 2000 rows.",
    "reproduce jobs": "Number of processes.",
    "reproduce output": "Folder for records, tables and figures: results, or results/quick.",
    "weights target": "Outcome column, which is not to be balanced.",
}
ARGUMENTS = ("table", "tables", "model", "compare train", "compare tests", "reproduce names")
FLAGS = {"output": ("--output", "-o"), "settings": ("--set",)}
LEAST = dict.fromkeys(("min_rows", "seeds", "jobs"), 1)
LEAST |= dict.fromkeys(("seed", "max_stability", "cv", "first_seed"), 0)


def explain(command: str, parameter: Parameter) -> Parameter:
    """The parameter of a command as an argument or option with its help."""
    name, kind = parameter.name, parameter.annotation
    key = f"{command} {name}" if f"{command} {name}" in HELP else name
    if key in ARGUMENTS:
        about: Any = typer.Argument(help=HELP[key])
    else:
        plain = (f"--{name.replace('_', '-')}",) if kind is bool else ()  # and no --no-...
        about = typer.Option(*FLAGS.get(name, plain), help=HELP[key], min=LEAST.get(name))
    return parameter.replace(annotation=Annotated[kind, about])


class UsageError(Exception):
    """The options do not go together, or not with what is there; the message says what to do."""
