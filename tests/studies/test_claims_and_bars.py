import numpy as np
import pandas as pd
import pytest
from fake_records import fake_run

from studies.paper import FIGURES
from studies.paper.bars import Bar, bars_table
from studies.paper.claims import LIBRARY, claims_table, strengths_claims, trends_table, verdict
from studies.paper.tables import (
    both_gaps,
    by_seed,
    curves_table,
    gap,
    mean_line,
    runs_table,
    summary_table,
)
from studies.records import Records
from studies.tables import mean_interval

SEEDS = [1000, 1001, 1002]


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    """Made-up results of a few figures."""
    found = Records(tmp_path_factory.mktemp("records") / "records.jsonl")
    for name in ("figure-4", "figure-6", "figure-12", "assumption-1"):
        for definition in FIGURES[name].definitions(SEEDS):
            found.add(definition, fake_run(definition))
    return found


@pytest.fixture(scope="module")
def panels():
    names = ("figure-4", "figure-6", "assumption-1")
    return [panel for name in names for panel in FIGURES[name].panels]


@pytest.fixture(scope="module")
def runs(records, panels):
    return runs_table(panels, SEEDS, records)


@pytest.fixture(scope="module")
def lines(records, panels):
    return {panel.name: mean_line(panel, SEEDS, records) for panel in panels}


def small_runs(**errors):
    """Runs of one panel: lists of (average, stability) per seed by method."""
    rows = [
        {"panel": "x", "seed": seed, "method": method, "average": a, "stability": s}
        for method, values in errors.items()
        for seed, (a, s) in enumerate(values)
    ]
    return pd.DataFrame(rows)


# --- numbers ---


def test_the_interval_is_that_of_student():
    values = [0.1, 0.2, 0.4]
    mean, half = mean_interval(values)
    assert mean == pytest.approx(np.mean(values))
    assert half == pytest.approx(4.302653 * np.std(values, ddof=1) / np.sqrt(3), rel=1e-6)
    assert np.isnan(mean_interval([0.1]).half)


def test_gaps_are_shares_of_the_way_from_lr_to_the_oracle_over_means():
    runs = small_runs(
        LR=[(0.40, 0.30), (0.42, 0.32)],
        DGBR=[(0.25, 0.05), (0.27, 0.09)],
        oracle=[(0.20, 0.01), (0.22, 0.03)],
    )
    assert gap(runs, "DGBR", "average").share == pytest.approx(0.15 / 0.20)
    assert gap(runs, "DGBR", "stability").share == pytest.approx(0.24 / 0.29)
    assert both_gaps(runs, "DGBR").share == pytest.approx(0.75)
    assert str(both_gaps(runs, "DGBR")) == "75%"


def test_a_gap_is_undefined_where_lr_is_not_clearly_worse_than_the_oracle():
    runs = small_runs(
        LR=[(0.30, 0.20), (0.31, 0.22)],
        DGBR=[(0.29, 0.10), (0.29, 0.10)],
        oracle=[(0.31, 0.01), (0.29, 0.02)],
    )
    assert not gap(runs, "DGBR", "average").defined
    assert str(gap(runs, "DGBR", "average")) == "undefined"
    assert both_gaps(runs, "DGBR") == gap(runs, "DGBR", "stability")


def test_the_runs_table_has_a_row_per_panel_seed_and_method(runs, panels):
    assert len(runs) == len(panels) * len(SEEDS) * 16
    assert runs["average"].notna().all()
    first = runs.iloc[0]
    assert (first["figure"], first["panel"]) == ("figure-4", "figure-4a")
    assert (first["setting"], first["bias on"], first["n"], first["r"]) == (
        "S⊥V",
        "outcome",
        1000,
        0.65,
    )


def test_the_summary_ends_with_lr_shrunk_to_the_stability_of_dgbr(runs, lines):
    summary = summary_table(runs, lines)
    panel = summary[summary["panel"] == "figure-4a"].set_index("method")
    assert list(panel.index)[-1] == "LR shrunk"
    assert panel.loc["LR shrunk", "Stability_Error"] <= panel.loc["Stable", "Stability_Error"]
    assert panel.loc["LR", "both gaps"] == pytest.approx(0)
    assert panel.loc["GBR", "least share"] == 0.04


def test_curves_have_a_point_per_method_and_environment(runs):
    curves = curves_table(runs[runs["panel"] == "figure-4a"])
    assert len(curves) == 10 * 9
    assert sorted(curves["environment"].unique()) == [k / 10 for k in range(1, 10)]


# --- claims ---


@pytest.mark.parametrize(
    ("differences", "expected"),
    [
        ([0.1, 0.12, 0.11], "holds"),
        ([-0.1, -0.12, -0.11], "does not hold"),
        ([-0.1, 0.12, 0.01], "undecided"),
        ([0.1], "undecided"),
    ],
)
def test_a_verdict_needs_two_standard_errors(differences, expected):
    assert verdict(pd.Series(differences)) == expected


def test_claims_are_judged_in_every_panel(runs):
    claims = claims_table(runs)
    verdicts = claims.groupby("claim")["verdict"].unique().map(list)
    letter, deep = "GBR (paper, intercept)", "DGBR (paper, intercept)"
    assert verdicts[f"{letter} is more stable than LR"] == ["does not hold"]
    assert verdicts[f"{deep} is more stable than {letter}"] == ["holds"]
    assert verdicts[f"{deep} is lowest on average"] == ["holds"]
    assert not claims["claim"].str.contains("^GBR is|^DGBR is").any()
    first = claims[claims["claim"] == f"{deep} is more stable than DLR"].iloc[0]
    panel = runs[runs["panel"] == first["panel"]]
    expected = by_seed(panel, "DLR", "stability") - by_seed(panel, deep, "stability")
    assert first["difference"] == pytest.approx(expected.mean())


def test_the_librarys_methods_are_judged_in_a_table_of_their_own(runs):
    claims = claims_table(runs, LIBRARY)
    verdicts = claims.groupby("claim")["verdict"].unique().map(list)
    assert verdicts["GBR is more stable than LR"] == ["holds"]
    assert verdicts["DGBR is lowest on average"] == ["holds"]


def test_trends_compare_the_ends_of_series_that_differ_in_one_thing(runs):
    trends = trends_table(runs)
    where = trends.groupby("claim")["panel"].apply(list)
    at_small_n = where["DGBR (paper, intercept)'s gain is larger at small n"]
    assert at_small_n[:3] == [
        "figure-4a against figure-4g",
        "figure-4b against figure-4h",
        "figure-4c against figure-4i",
    ]
    assert "figure-6a against figure-6c" in at_small_n
    deep = "DGBR (paper, intercept)"
    assert "figure-4c against figure-4a" in where[f"{deep}'s gain is larger at large r"]
    at_large_p = where[f"{deep}'s gain is larger at large p"]
    assert at_large_p == ["assumption-1h against assumption-1e"]
    # The made-up errors are the same everywhere.
    assert set(trends["verdict"]) == {"undecided"}


def test_the_course_over_a_strength_is_judged_against_both_ends(records):
    claims = strengths_claims(FIGURES["figure-12"], SEEDS, records).set_index("claim")
    course = claims.loc["Average_Error falls, then rises as λ1 grows"]
    assert course["verdict"] == "holds"
    assert course["difference"] == pytest.approx(0.02, abs=1e-6)
    # λ2 and λ3 change nothing in the made-up errors.
    assert claims.loc["Average_Error falls as λ2 grows", "verdict"] == "undecided"


# --- bars ---


def test_a_bar_is_reached_missed_or_undefined():
    assert Bar("x", 0.85, 0.9).reached == "yes"
    assert Bar("x", 0.85, 0.8).reached == "no"
    assert Bar("x", 0.85, float("nan")).reached == "undefined"


def test_every_panel_has_the_bars_that_apply_to_it(runs, lines):
    bars = bars_table(runs, lines)
    ours, deep = (
        bars[bars["bar"] == f"{method}: both gaps closed"].set_index("panel")["needed"]
        for method in ("Stable", "DGBR")
    )
    assert set(ours) == {0.85}
    assert {"figure-4a", "figure-6b", "assumption-1m"} <= set(ours.index)
    assert deep.to_dict() == {"figure-4d": 0.7} | {f"assumption-1{k}": 0.9 for k in "abc"}
    verdicts = bars[bars["bar"] == "F1 of stable_features_"].set_index("panel")["reached"]
    assert list(verdicts.index) == [f"assumption-1{letter}" for letter in "abcdefghijklmn"]
    assert set(verdicts) == {"yes"}
    oracle = bars[bars["bar"] == "Stable below oracle (Average_Error)"]
    assert set(oracle["reached"]) == {"yes"}
    near = bars[bars["bar"].str.startswith("GBR (paper, intercept) within")]
    assert set(near["reached"]) == {"no"}
    shares = bars[bars["bar"].str.startswith("least effective")]
    assert set(shares["reached"]) == {"no"}
    lowest = bars[bars["bar"] == "Stable below LR, DLR, GBR, DGBR (Stability_Error)"]
    assert set(lowest["panel"]) == {f"figure-4{letter}" for letter in "abcdefghi"}
    assert lowest["standard error"].notna().all()


def test_below_the_shrinkage_line_is_judged_where_it_is_as_stable(runs, lines):
    bars = bars_table(runs, lines).set_index(["bar", "panel"])
    number = bars.loc[("Stable below the shrinkage line (Average_Error)", "figure-4a"), "number"]
    line = lines["figure-4a"]
    panel = runs[runs["panel"] == "figure-4a"]
    stability = by_seed(panel, "Stable", "stability").mean()
    as_stable = line[line["Stability_Error"] <= stability]["Average_Error"].min()
    assert number == pytest.approx(as_stable - by_seed(panel, "Stable", "average").mean())
