r"""The paper's synthetic figures, as definitions.

Numbers are those that the figures have when the paper is compiled: they count the captions in
order of the source, without what stands inside ``\hide{...}`` (an earlier copy of the figure of
E[alpha]). Letters count the ``\subfloat`` of a figure.

=========  ==============================  ========================================================
figure     LaTeX label                     what it shows
=========  ==============================  ========================================================
1, 2       fig:graph, fig:framework        drawings
3          fig:alpha_n_p                   E[alpha] against n and p
4 a to i   fig:simulation_n_r              P(Y|V), S_|_V, p = 20: n = 1000, 2000, 4000 (rows) by
                                           training r = .65, .75, .85 (columns)
5 a to c   fig:simulation_p                P(Y|V), S_|_V, n = 4000, r = .75: p = 20, 40, 80 (5a is
                                           4h)
6 a to c   fig:simulation_s2v              P(Y|V), S -> V, r = .75: n = 1000, 2000, 4000
7 a to c   fig:simulation_v2s              P(Y|V), V -> S, as 6
8 a to c   fig:Pvs-simulation_s0v          P(V|S), S_|_V, r = .85: n = 1000, 2000, 4000
9 a to c   fig:Pvs-simulation_s2v          P(V|S), S -> V, as 8
10 a to c  fig:Pvs-simulation_v2s          P(V|S), V -> S, as 8
11         fig:raw2embedding               embedding weights A^(1) (world not named; as 4e here)
12 a to c  fig:Parameter_Analysis          errors over lambda 1, 2, 3 (S_|_V, n = 2000, p = 20; r
                                           not named; .75 here)
13 to 16   fig:prediction_vary_nf,         real data
           fig:prediction_vary_one_nf,
           fig:prediction_via_separation,
           fig:stability_via_separation
=========  ==============================  ========================================================

Beyond the paper, ``assumption-1`` are worlds in which Assumption 1 holds, the bias being on the
noise-free outcome: S_|_V, n = 2000 (a to c) and 4000 (d to f) by r = .65, .75, .85; p = 40 and 80
at n = 4000 (g, h); S -> V and V -> S, n = 2000 and 4000 (i to l); and 20 % and 60 % of the features
stable, with the columns in random order (m, n). ``literal-mediator`` are figures 8b, 9b and 10b
with the integer Z (a to c).
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from string import ascii_lowercase
from typing import Any

import numpy as np

from stablepred.worlds.synthetic import SyntheticWorld
from studies.methods import DGBR, OURS, PAPER, STRENGTHS
from studies.paper.figures import (
    EmbeddingFigure,
    Figure,
    StrengthFigure,
    Sweep,
    TheoryFigure,
)
from studies.paper.panels import Panel

SIZES = (1000, 2000, 4000)
RATES = (0.65, 0.75, 0.85)
EVERYTHING = "paper"


# --- panels -------------------------------------------------------------------------------------


def _lettered(name: str, panels: Sequence[Panel]) -> tuple[Panel, ...]:
    letters = ascii_lowercase if len(panels) > 1 else ("",)
    pairs = zip(letters, panels, strict=False)
    return tuple(replace(panel, name=name + letter) for letter, panel in pairs)


def _panel(world: SyntheticWorld, n: int, train_bias: float, **options: Any) -> Panel:
    # The embedding is shown of figure 4e; keeping it is part of what is run there.
    shown = (world, n, train_bias) == (SyntheticWorld("s_indep_v"), 2000, 0.75)
    most = 3 if world.n_features > 40 else 1000
    variant = options.get("permuted", False) or world.mediator == "integer"
    options = {"tuned": 3 if n == 2000 and not shown and not variant else 0} | options
    return Panel("", world, n, train_bias, keeps_encoder=shown, most_seeds=most, **options)


def _over_sizes(number: int, setting: Any, shift: Any, title: str, claim: str) -> Figure:
    world = SyntheticWorld(setting, shift=shift)
    rate = 0.75 if shift == "y_given_v" else 0.85
    name = f"figure-{number}"
    panels = _lettered(name, [_panel(world, n, rate) for n in SIZES])
    return Figure(name, title, claim, panels)


def _figure_3() -> TheoryFigure:
    rows = tuple(np.unique(np.logspace(0.5, 5, 120).astype(int)).tolist())
    claim = "E[α] falls with n and rises with p"
    features = tuple(range(3, 12))
    return TheoryFigure("figure-3", "E[α]", claim, (), rows=rows, features=features)


def _figure_4() -> Figure:
    world = SyntheticWorld("s_indep_v")
    cells = [(n, rate) for n in SIZES for rate in RATES]
    panels = _lettered("figure-4", [_panel(world, n, rate, tuned=10) for n, rate in cells])
    title = "P(Y|V) varies, S⊥V, p = 20"
    claim = f"{DGBR} is stable and small in every panel; its gain is larger where n is small"
    return Figure("figure-4", title, claim, panels)


def _figure_5() -> Figure:
    worlds = [SyntheticWorld("s_indep_v", p) for p in (20, 40, 80)]
    panels = _lettered("figure-5", [_panel(world, 4000, 0.75) for world in worlds])
    title = "P(Y|V) varies, S⊥V, n = 4000, r = .75"
    claim = f"{DGBR} is stable and small for every p; its gain is larger where p is large"
    return Figure("figure-5", title, claim, panels)


def _figure_11() -> EmbeddingFigure:
    panels = (_panel(SyntheticWorld("s_indep_v"), 2000, 0.75),)
    claim = f"{DGBR}'s embedding has little information of the noisy features"
    return EmbeddingFigure("figure-11", "Embedding weights", claim, _lettered("figure-11", panels))


def _figure_12() -> StrengthFigure:
    sweeps = tuple(Sweep(parameter, name, v) for name, (parameter, v) in STRENGTHS.items())
    panels = _lettered("figure-12", [_panel(SyntheticWorld("s_indep_v"), 2000, 0.75)])
    claim = (
        "λ1: both errors fall, then Average_Error rises; λ2: Average_Error falls, Stability_Error "
        "falls and rises; λ3: both fall, then rise"
    )
    title = f"{PAPER} over λ1, λ2, λ3"
    return StrengthFigure("figure-12", title, claim, panels, sweeps=sweeps)


def _assumption_1() -> Figure:
    signal = partial(SyntheticWorld, bias_on="signal")
    settings: tuple[Any, ...] = ("s_to_v", "v_to_s")
    # At stable=.6 one biased feature fewer, so that none is both.
    shares = ((0.2, 0.4), (0.6, 0.35))
    panels = [_panel(signal("s_indep_v"), n, rate) for n in (2000, 4000) for rate in RATES]
    panels += [_panel(signal("s_indep_v", p), 4000, 0.75) for p in (40, 80)]
    panels += [_panel(signal(setting), n, 0.75) for setting in settings for n in (2000, 4000)]
    panels += [
        _panel(signal("s_indep_v", stable=stable, biased=biased), 2000, 0.75, permuted=True)
        for stable, biased in shares
    ]
    title = "P(Y|V) varies, bias on the noise-free outcome (Assumption 1 holds)"
    claim = (
        f"{OURS} closes most of both gaps to the oracle, knowing neither how many features are "
        "stable nor where they stand"
    )
    return Figure("assumption-1", title, claim, _lettered("assumption-1", panels))


def _literal() -> Figure:
    settings: tuple[Any, ...] = ("s_indep_v", "s_to_v", "v_to_s")
    worlds = [SyntheticWorld(s, shift="v_given_s", mediator="integer") for s in settings]
    panels = _lettered("literal-mediator", [_panel(world, 2000, 0.85) for world in worlds])
    claim = "beyond the paper: selection that acts on S more than on V"
    return Figure("literal-mediator", "P(V|S) varies, V tied to the integer Z", claim, panels)


_STABLE = f"GBR is more stable than LR, {DGBR} than DLR and GBR"

FIGURES: dict[str, Figure] = {
    figure.name: figure
    for figure in (
        _figure_3(),
        _figure_4(),
        _figure_5(),
        _over_sizes(6, "s_to_v", "y_given_v", "P(Y|V) varies, S→V, r = .75", _STABLE),
        _over_sizes(7, "v_to_s", "y_given_v", "P(Y|V) varies, V→S, r = .75", _STABLE),
        _over_sizes(8, "s_indep_v", "v_given_s", "P(V|S) varies, S⊥V, r = .85", _STABLE),
        _over_sizes(9, "s_to_v", "v_given_s", "P(V|S) varies, S→V, r = .85", _STABLE),
        _over_sizes(10, "v_to_s", "v_given_s", "P(V|S) varies, V→S, r = .85", _STABLE),
        _figure_11(),
        _figure_12(),
        _assumption_1(),
        _literal(),
    )
}


def named_figures(name: str, *, quick: bool) -> list[Figure]:
    """The figures that a name stands for: all, one, or one part; none if it is not a name."""
    chosen = list(FIGURES.values()) if name == EVERYTHING else []
    if name in FIGURES:
        chosen = [FIGURES[name]]
    elif name[:-1] in FIGURES and name[-1] in FIGURES[name[:-1]].letters:
        chosen = [FIGURES[name[:-1]].only(name[-1])]
    return [figure.quick() if quick else figure for figure in chosen]
