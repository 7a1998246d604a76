"""Draws docs/images/theory.png and prints the numbers of docs/theory.md.

python docs/make_theory_picture.py
"""

from pathlib import Path

import matplotlib as mpl
import numpy as np

from stablepred import theory
from stablepred.theory.alpha import enumerate_alphas

PICTURE = Path(__file__).parent / "images" / "theory.png"


def dependent_rows(n: int, p: int, seed: int) -> np.ndarray:
    """Return 0/1 rows in which each feature copies the one before it in 7 of 10 rows."""
    rng = np.random.default_rng(seed)
    x = rng.integers(2, size=(n, p))
    for j in range(1, p):
        copies = rng.random(n) < 0.7
        x[copies, j] = x[copies, j - 1]
    return x


def weights_lines() -> list[str]:
    """Exact weights on a sample with all patterns, and on one without."""
    lines = [" n    p  missing  alpha: plain  1/P^(x)   sum|eps|: plain  1/P^(x)"]
    for n, p in ((500, 3), (500, 4), (500, 8), (500, 12)):
        x = dependent_rows(n, p, seed=0)
        pair = np.ones(n), theory.exact_weights(x)
        alphas = [theory.maximum_imbalance(x, w).value for w in pair]
        sums = [theory.joint_imbalance(x, w).total for w in pair]
        lines.append(
            f"{n}  {p:2d}  {theory.missing_patterns(x):7d}  {alphas[0]:12.4f}  {alphas[1]:7.4f}"
            f"  {sums[0]:16.4f}  {sums[1]:7.4f}"
        )
    return lines


def lemma_lines() -> list[str]:
    """Print g beside the mean and the smallest alpha for p = 4."""
    lines = [" m  arrangements  g(4, m)    mean  smallest  with alpha = 0"]
    for m in (1, 2, 4, 6, 8, 10, 12, 14):
        alphas = enumerate_alphas(4, m)
        lines.append(
            f"{m:2d}  {len(alphas):12d}  {theory.imbalance_bound(4, m):7.4f}  {alphas.mean():6.4f}"
            f"  {alphas.min():8.4f}  {np.count_nonzero(alphas < 1e-12):14d}"
        )
    return lines


def large_p_lines() -> list[str]:
    """Half of all patterns missing, for growing p."""
    lines = [" p     m  g(p, m)    mean"]
    for p in (3, 4, 5, 7, 9, 11):
        mean = theory.imbalance_mean(p, 2 ** (p - 1), random_state=0)
        bound = theory.imbalance_bound(p, 2 ** (p - 1))
        lines.append(f"{p:2d}  {2 ** (p - 1):4d}  {bound:7.4f}  {mean:6.4f}")
    return lines


def other_weights_lines() -> list[str]:
    """Eight patterns of four features that other weights balance better than 1 / P^(x)."""
    observed = np.array([0, 2, 5, 6, 9, 10, 11, 15])
    x = (observed[:, None] >> np.arange(4)) & 1
    kept = np.isin(observed, [2, 11], invert=True)
    return [
        f"weights 1/P^(x):           alpha = {theory.maximum_imbalance(x, np.ones(8)).value:.4f}",
        f"without two of the eight:  alpha = {theory.maximum_imbalance(x, kept).value:.4f}",
    ]


def expectation_lines() -> list[str]:
    """E[alpha] of the theorem, and what independent rows give."""
    lines = [" p        n  E[alpha]   rows drawn one by one: mean g    mean alpha"]
    sizes = [(p, n, 500) for p in (3, 5, 8) for n in (10, 100, 1000, 10_000)]
    for p, n, draws in [*sizes, (20, 10**6, 5)]:
        drawn = theory.multinomial_imbalance(n, p, n_draws=draws, random_state=0)
        lines.append(
            f"{p:2d}  {n:7d}  {theory.expected_imbalance(n, p):8.4f}"
            f"  {drawn.bound:30.4f}  {drawn.alpha:12.4f}"
        )
    return lines


def risk_lines() -> list[str]:
    """Two bounds: one that says something, one that does not."""
    small = theory.risk_bound(n=100_000, p=4, beta_l1_bound=0.5, imbalance=0.02, best_risk=0.5)
    deep = theory.risk_bound(
        n=4000,
        p=20,
        hidden=(10,),
        beta_l2_bound=4.0,
        beta_l1_bound=5.0,
        network_bound=10.0,
        bias_bounds=1.0,
        imbalance=1.0,
    )
    return ["linear, p = 4, n = 100000", str(small), "", "one layer, p = 20, n = 4000", str(deep)]


def distance_lines() -> list[str]:
    """Johnson-Lindenstrauss dimensions."""
    return [
        f"n = {n:6d}, epsilon = {eps}: {theory.johnson_lindenstrauss_dimension(n, eps)} dimensions"
        for n, eps in ((1000, 0.5), (1000, 0.1), (100_000, 0.5))
    ]


def sections() -> list[str]:
    """All blocks of numbers in docs/theory.md, in its order."""
    makers = (
        weights_lines,
        lemma_lines,
        large_p_lines,
        other_weights_lines,
        expectation_lines,
        risk_lines,
        distance_lines,
    )
    return ["\n".join(maker()) for maker in makers]


def draw(path: Path) -> None:
    """Left: E[alpha] against n. Right: g beside what all arrangements of p = 4 give."""
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), width_ratios=(1.35, 1))
    rows = np.unique(np.logspace(0.5, 5, 240).astype(int))
    features = np.arange(3, 12)
    curves = theory.expected_imbalance(rows[:, None], features)
    colours = plt.get_cmap("viridis")(np.linspace(0, 0.8, len(features)))
    for p, curve, colour in zip(features, np.asarray(curves).T, colours, strict=True):
        left.plot(rows, curve, color=colour, linewidth=1.8)
        at = int(np.argmin(np.abs(curve - 0.5)))
        label = f"p = {p}" if p == 3 else f"{p}"
        left.annotate(
            label,
            (rows[at], 0.5),
            ha="center",
            va="center",
            color=colour,
            bbox={"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none"},
        )
    left.set(xscale="log", xlabel="rows n", ylabel="E[α]", ylim=(-0.02, 1.04))
    left.set_title("E[α] of the theorem, p = 3 … 11 features")

    m = np.arange(16)
    alphas = [enumerate_alphas(4, int(k)) for k in m]
    right.plot(m, theory.imbalance_bound(4, m), "o-", color="#b40426", label="g(4, m): the largest")
    right.plot(m, [a.mean() for a in alphas], "s-", color="#3b4cc0", label="mean")
    right.plot(m, [a.min() for a in alphas], "^:", color="#7f7f7f", label="smallest")
    right.set(xlabel="missing patterns m", ylabel="α under 1/P̂(x)", ylim=(-0.02, 1.04))
    right.set_title("α over all arrangements, p = 4")
    right.legend(frameon=False, loc="upper left", bbox_to_anchor=(0.0, 0.97))
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
    figure.tight_layout()
    figure.savefig(path, dpi=130, metadata={"Software": None})
    plt.close(figure)


if __name__ == "__main__":
    PICTURE.parent.mkdir(exist_ok=True)
    draw(PICTURE)
    print("\n\n".join(sections()))
