import pytest

from stablepred.data import SyntheticWorld
from stablepred.validation.environments import RATES
from studies.methods import COMPARED, GRIDS, METHODS
from studies.paper import FIGURES, named_figures
from studies.records import definition_key

PANELS = {panel.name: panel for figure in FIGURES.values() for panel in figure.panels}


def test_the_figures_are_those_of_the_paper_and_two_groups_beyond_it():
    assert list(FIGURES) == [f"figure-{k}" for k in range(3, 13)] + [
        "assumption-1",
        "literal-mediator",
    ]


@pytest.mark.parametrize(
    ("name", "world", "n", "rate"),
    [
        ("figure-4a", SyntheticWorld("s_indep_v"), 1000, 0.65),
        ("figure-4c", SyntheticWorld("s_indep_v"), 1000, 0.85),
        ("figure-4e", SyntheticWorld("s_indep_v"), 2000, 0.75),
        ("figure-4i", SyntheticWorld("s_indep_v"), 4000, 0.85),
        ("figure-5b", SyntheticWorld("s_indep_v", 40), 4000, 0.75),
        ("figure-5c", SyntheticWorld("s_indep_v", 80), 4000, 0.75),
        ("figure-6a", SyntheticWorld("s_to_v"), 1000, 0.75),
        ("figure-7c", SyntheticWorld("v_to_s"), 4000, 0.75),
        ("figure-8b", SyntheticWorld("s_indep_v", shift="v_given_s"), 2000, 0.85),
        ("figure-9a", SyntheticWorld("s_to_v", shift="v_given_s"), 1000, 0.85),
        ("figure-10c", SyntheticWorld("v_to_s", shift="v_given_s"), 4000, 0.85),
        ("assumption-1a", SyntheticWorld("s_indep_v", bias_on="signal"), 2000, 0.65),
        ("assumption-1h", SyntheticWorld("s_indep_v", 80, bias_on="signal"), 4000, 0.75),
        ("assumption-1l", SyntheticWorld("v_to_s", bias_on="signal"), 4000, 0.75),
        (
            "assumption-1n",
            SyntheticWorld("s_indep_v", bias_on="signal", stable=0.6, biased=0.35),
            2000,
            0.75,
        ),
    ],
)
def test_panels_have_the_papers_training_environments(name, world, n, rate):
    panel = PANELS[name]
    assert (panel.world, panel.n, panel.train_bias) == (world, n, rate)
    assert panel.test_biases == RATES
    assert panel.test_rows == 10_000


def test_no_feature_is_both_stable_and_biased():
    for panel in PANELS.values():
        for version in (panel, panel.quick()):
            world = version.world
            assert not set(world.stable_features) & set(world.biased_features), panel.name


def test_columns_are_permuted_where_the_share_of_stable_features_differs():
    assert {name for name, panel in PANELS.items() if panel.permuted} == {
        "assumption-1m",
        "assumption-1n",
    }


def test_a_figure_needs_every_method_and_the_references_for_every_seed():
    definitions = FIGURES["figure-4"].definitions([1, 2])
    assert len(definitions) == 9 * 2 * (len(COMPARED) + 1)
    assert len({definition_key(d) for d in definitions}) == len(definitions)


def test_what_two_figures_show_is_run_once():
    seeds = [1]
    nine = {definition_key(d) for d in FIGURES["figure-4"].definitions(seeds)}
    embedding = {definition_key(d) for d in FIGURES["figure-11"].definitions(seeds)}
    middle = {definition_key(d) for d in FIGURES["figure-5"].only("a").definitions(seeds)}
    strengths = {definition_key(d) for d in FIGURES["figure-12"].definitions(seeds)}
    assert embedding < nine
    assert middle < nine
    # Where the strength has the value that from_paper() gives it.
    assert len(strengths & nine) == 1


def test_the_strengths_include_those_of_the_paper_version():
    for sweep in FIGURES["figure-12"].sweeps:
        assert METHODS["DGBR (paper)"].settings()[sweep.parameter] in sweep.values
        assert list(sweep.values) == sorted(sweep.values)


def test_figure_4_is_tuned_with_ten_seeds_and_worlds_of_2000_rows_with_three():
    tuned = {p.name: p.tuned for figure in FIGURES.values() for p in figure.compared if p.tuned}
    four = {f"figure-4{letter}": 10 for letter in "abcdefghi"}
    assert four.items() <= tuned.items()
    assert set(tuned.values()) == {3, 10}
    assert tuned.keys() >= {f"figure-{number}b" for number in (6, 7, 8, 9, 10)}
    assert len(FIGURES["figure-4"].tuned_definitions(range(20))) == 9 * 10 * len(GRIDS)
    assert FIGURES["figure-3"].tuned_definitions(range(10)) == []


def test_names_stand_for_all_figures_for_one_or_for_a_part():
    assert named_figures("paper", quick=False) == list(FIGURES.values())
    assert named_figures("figure-6", quick=False) == [FIGURES["figure-6"]]
    (part,) = named_figures("figure-4e", quick=False)
    assert [panel.name for panel in part.panels] == ["figure-4e"]
    (part,) = named_figures("figure-12b", quick=False)
    assert [sweep.symbol for sweep in part.sweeps] == ["λ2"]
    for name in ("figure-4j", "figure-11a", "figure-13", "e", ""):
        assert named_figures(name, quick=False) == [], name


def test_the_quick_version_is_small_and_its_panels_still_differ():
    definitions = [d for f in named_figures("paper", quick=True) for d in f.definitions([1])]
    panels = {definition_key(d["panel"]): d["panel"] for d in definitions if "panel" in d}
    assert len(panels) == 9 + 2 + 5 * 3 + 14 + 3
    for panel in panels.values():
        assert panel["n"] <= 400
        assert panel["test_rows"] == 200
        assert panel["world"]["n_features"] < 20
