"""``stablepred demo``: train in one environment, compare in nine others."""

import warnings
from pathlib import Path
from typing import Any, Literal

from stablepred._extras import require
from stablepred.cli import options
from stablepred.cli.screen import say, show_table, working

METHODS: tuple[options.Method, ...] = ("dlr", "gbr", "dgbr", "stable")
SUMMARY = "{Average_Error:.3f}|{Stability_Error:.3f}|{average_gap:.0%}|{stability_gap:.0%}"
TITLES = ["", "Average\nError", "Stability\nError", "average\ngap", "stability\ngap"]
EXPLAINED = (
    "average gap, stability gap: the share of the way from LR to the oracle that is closed",
    "shrunk better: whether LR, pulled towards the constant, beats the method in both errors\n",
)


def demo(
    bias_on: Literal["outcome", "signal"] = "outcome",
    rate: float = 0.75,
    rows: int = 2000,
    test_rows: int = 10_000,
    seed: int = 1000,
    output: Path = Path("stablepred-demo"),
) -> None:
    """Train all methods in one environment and compare them in nine others.

    The world is the paper's S_|_V with 20 features: nine decide the outcome, eight others are
    tied to it by selection, as strongly as the bias rate says. The models see one environment.

    Example: stablepred demo --rate 0.65
    """
    require("jinja2", "the report")  # before any work is done
    drawing = require("matplotlib.figure", "the picture")
    from stablepred.cli.tables import make_estimator, new_file, write_csv
    from stablepred.evaluation.reports import stability_report
    from stablepred.plotting import EnvironmentErrorsDisplay
    from stablepred.validation.environments import RATES
    from stablepred.worlds.synthetic import SyntheticWorld

    output.mkdir(parents=True, exist_ok=True)
    world = SyntheticWorld("s_indep_v", bias_on=bias_on)
    train = world.sample(rows, bias_rate=rate, random_state=seed)
    models = {}
    for method in METHODS:  # the report fits LR itself, as a reference
        with warnings.catch_warnings(), working(f"fitting {method}"):
            warnings.simplefilter("ignore")  # the table shows how well they do
            models[method.upper()] = make_estimator(method, seed).fit(train.X, train.y)
    report = stability_report(
        models.pop("STABLE"),
        [world.sample(test_rows, bias_rate=r, random_state=seed + 1) for r in RATES],
        train=train,
        stable_features=world.stable_features,
        baselines=models,
        random_state=seed,
    )
    order = ["LR", *models, "Stable", "constant", "oracle"]
    frames: Any = (report.comparison.errors, report.comparison.summary())
    errors, summary = (
        frame.rename(index={"StableClassifier": "Stable"}).loc[order] for frame in frames
    )
    training = f"r = {rate:g} ({rows:,} rows, bias on the {bias_on})"
    title = f"Trained on {training}, tested on r = .1 to .9"
    write_csv(errors, output / "errors.csv", index_label="method")
    figure = drawing.Figure(figsize=(7.2, 5), layout="constrained")
    EnvironmentErrorsDisplay.from_report(report, ax=figure.subplots())
    figure.suptitle(title, fontsize=10)
    with new_file(output / "errors.png") as temporary:
        figure.savefig(temporary, dpi=150)
    report.to_html(output / "report.html")
    say(f"\n{title}\n")
    show_table(
        "RMSE per test environment",
        ["", *(name.replace("=0", "=") for name in errors)],
        [[n, *(f"{e:.3f}".removeprefix("0") for e in row)] for n, row in errors.T.items()],
    )
    shown = [
        [name, *SUMMARY.format(**row).split("|"), "yes" if row["shrunk_better"] else "no"]
        for name, row in summary.iterrows()
    ]
    show_table("Summary", [*TITLES, "shrunk\nbetter"], shown)
    for line in [*EXPLAINED, report.verdict, ""]:
        say(line)
    say(f"written: {output}/report.html, {output}/errors.csv, {output}/errors.png")
