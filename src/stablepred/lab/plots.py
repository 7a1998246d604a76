"""Figures from tables of errors; the only place that imports matplotlib."""

from pathlib import Path

import pandas as pd
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

STYLES = {
    "LR": ("#c44e52", "o", "-"),
    "DLR": ("#dd8452", "s", "-"),
    "GBR": ("#55a868", "^", "-"),
    "DGBR": ("#4c72b0", "D", "-"),
    "DGBR (paper)": ("#8172b3", "v", "-"),
    "constant": ("#8c8c8c", "", ":"),
    "oracle": ("#222222", "", "--"),
}


def plot_errors(errors: pd.DataFrame, title: str, path: Path) -> None:
    """RMSE per test environment, one line per method (the paper's axes)."""
    figure = Figure(figsize=(7.2, 4.4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    rates = [float(str(name).split("=")[-1]) for name in errors.columns]
    for method, row in errors.iterrows():
        colour, marker, dash = STYLES.get(str(method), ("#937860", "x", "-"))
        width = 2.4 if method == "DGBR" else 1.4
        axes.plot(
            rates,
            row.to_numpy(),
            color=colour,
            marker=marker,
            linestyle=dash,
            linewidth=width,
            markersize=5,
            label=str(method),
        )
    axes.set_xlabel("bias rate r of the test environment")
    axes.set_ylabel("RMSE")
    axes.set_ylim(bottom=0)
    axes.set_xticks(rates)
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(title, fontsize=10, loc="left")
    axes.legend(frameon=False, fontsize=8, ncols=2)
    figure.savefig(path, dpi=150)
