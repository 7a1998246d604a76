"""``stablepred demo``: train in one environment, compare in nine others."""

import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import pandas as pd
import typer
from rich import box
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from stablepred.cli.estimators import METHODS
from stablepred.evaluation.comparison import Comparison
from stablepred.evaluation.references import least_shrunk
from stablepred.evaluation.reports import StabilityReport, stability_report
from stablepred.validation.environments import RATES
from stablepred.worlds.environment import Environment
from stablepred.worlds.synthetic import SyntheticWorld

NAMES = {name: name.upper().replace("-PAPER", " (paper)") for name in METHODS}


@dataclass(frozen=True)
class Fitted:
    """A fitted method, how long it took and what it warned of."""

    name: str
    model: Any
    seconds: float
    warnings: list[str]


def demo(
    bias_on: Annotated[
        Literal["outcome", "signal"],
        typer.Option(help="What the biased features follow: the outcome, or its noise-free part."),
    ] = "outcome",
    rate: Annotated[float, typer.Option(help="Bias rate r of the training environment.")] = 0.75,
    rows: Annotated[int, typer.Option(help="Rows of the training environment.")] = 2000,
    test_rows: Annotated[int, typer.Option(help="Rows of each test environment.")] = 10_000,
    seed: Annotated[int, typer.Option(help="Seed of data and methods.")] = 1000,
    output: Annotated[Path, typer.Option(help="Folder for table, figure and report.")] = Path(
        "stablepred-demo"
    ),
) -> None:
    """Train all methods in one environment and compare them in nine others.

    The world is the paper's S_|_V with 20 features: nine decide the outcome, eight others are
    tied to it by selection, as strongly as the bias rate says. The models see one environment.
    """
    output.mkdir(parents=True, exist_ok=True)
    console = Console()
    world = SyntheticWorld("s_indep_v", bias_on=bias_on)
    train = world.sample(rows, bias_rate=rate, random_state=seed)
    fitted = _fit_all(train, seed)
    tests = [world.sample(test_rows, bias_rate=r, random_state=seed + 1) for r in RATES]
    report = _report(world, train, tests, fitted, seed)
    comparison = report.comparison
    errors = _in_order(comparison.errors)
    title = (
        f"Trained on r = {rate:g} ({rows:,} rows, bias on the {bias_on}), tested on r = .1 to .9"
    )
    console.print(f"\n[bold]{title}[/bold]")
    console.print(_table("RMSE per test environment", _per_environment(errors)))
    console.print(_table("Summary", _summary(comparison, fitted)))
    for line in _remarks(fitted):
        console.print(line)
    console.print(f"\n{report.verdict}")
    errors.to_csv(output / "errors.csv", index_label="method")
    _plot_errors(errors, title, output / "errors.png")
    report.to_html(output / "report.html")
    console.print(f"\nwritten: {output}/report.html, {output}/errors.csv, {output}/errors.png")


def _fit_all(train: Environment, seed: int) -> list[Fitted]:
    fitted = []
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("fitting", total=len(METHODS))
        for method, name in NAMES.items():
            started = time.perf_counter()
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                model = METHODS[method](seed).fit(train.X, train.y)
            seconds = time.perf_counter() - started
            fitted.append(Fitted(name, model, seconds, [str(w.message) for w in caught]))
            progress.update(task, advance=1, description=f"fitted {name}")
    return fitted


def _in_order(frame: pd.DataFrame) -> pd.DataFrame:
    """The methods as the paper lists them, then the references; the report's model is DGBR."""
    return frame.rename(index={"DGBRClassifier": "DGBR"}).loc[
        [*NAMES.values(), "constant", "oracle"]
    ]


def _per_environment(errors: pd.DataFrame) -> pd.DataFrame:
    """Errors as text, leading zeros dropped so that nine columns fit a terminal."""
    text = errors.map(lambda error: f"{error:.3f}".removeprefix("0"))
    return text.rename(columns=lambda name: str(name).replace("=0", "="))


def _summary(comparison: Comparison, fitted: list[Fitted]) -> pd.DataFrame:
    """The summary as text, with the shrinkage line's point at DGBR's stability."""
    summary = _in_order(comparison.summary())
    text = pd.DataFrame(index=summary.index)
    for column in ("Average_Error", "Stability_Error"):
        text[column] = summary[column].map("{:.3f}".format)
    for column in ("average_gap", "stability_gap"):
        text[column.replace("_", " ")] = summary[column].map("{:.0%}".format)
    text["shrunk wins"] = summary["shrunk_better"].map({True: "yes", False: "no"})
    text["seconds"] = pd.Series({item.name: f"{item.seconds:.1f}" for item in fitted})
    assert comparison.line is not None  # with a training environment there is an LR
    steady = summary["Stability_Error"].to_dict()["DGBR"]
    share, average, stability = least_shrunk(comparison.line, steady)
    name = f"shrunk LR, a = {share:.2f}"
    text.loc[name] = [f"{average:.3f}", f"{stability:.3f}", *[""] * 4]
    return text.fillna("")


def _remarks(fitted: list[Fitted]) -> list[str]:
    lines = []
    for item in fitted:
        report = getattr(item.model, "balance_report_", None)
        if report is not None:
            lines.append(f"{item.name}: effective sample share {report.effective_share:.1%}")
        lines.extend(f"{item.name}: {warning}" for warning in item.warnings)
    return lines


def _plot_errors(errors: pd.DataFrame, title: str, path: Path) -> None:
    """RMSE per test environment, one line per method (the paper's axes)."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 4.4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    for (method, row), marker in zip(errors.iterrows(), "os^Dv  ", strict=True):
        dash = "-" if marker.strip() else "--"  # references
        width = 2.4 if method == "DGBR" else 1.4
        values = row.to_numpy()
        axes.plot(RATES, values, marker=marker, linestyle=dash, linewidth=width, label=str(method))
    axes.set(xlabel="bias rate r of the test environment", ylabel="RMSE", xticks=RATES)
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.25)
    axes.set_title(title, fontsize=10, loc="left")
    axes.legend(frameon=False, fontsize=8, ncols=2)
    figure.savefig(path, dpi=150)


def _table(title: str, frame: pd.DataFrame) -> Table:
    table = Table(title=title, title_justify="left", box=box.SIMPLE, padding=(0, 1, 0, 0))
    table.add_column("", no_wrap=True)
    for column in frame.columns:
        table.add_column(str(column).replace("_", "\n").replace(" ", "\n"), justify="right")
    for name, row in frame.iterrows():
        table.add_row(str(name), *row.tolist())
    return table


def _report(
    world: SyntheticWorld,
    train: Environment,
    tests: list[Environment],
    fitted: list[Fitted],
    seed: int,
) -> StabilityReport:
    """DGBR beside all other methods; LR is one of the references that the report adds itself."""
    models = {item.name: item.model for item in fitted if item.name != "LR"}
    return stability_report(
        models.pop("DGBR"),
        tests,
        train=train,
        stable_features=world.stable_features,
        baselines=models,
        random_state=seed,
    )
