import itertools
from math import log

import numpy as np
import pytest
from scipy.stats import chi2

from stablepred.worlds import factors as module
from stablepred.worlds.factors import Factor, FactorGraph, elimination_order


def random_graph(seed, ring=5):
    """Variables of two and three values on a ring with a few wider factors."""
    rng = np.random.default_rng(seed)
    sizes = {f"x{i}": 2 + i % 2 for i in range(ring)}
    names = list(sizes)
    scopes = [(names[i], names[(i + 1) % ring]) for i in range(ring)]
    scopes += [(names[3], names[0], names[1]), (names[2],)]
    return sizes, [Factor(s, rng.random([sizes[v] for v in s])) for s in scopes]


def enumerated(sizes, graph_factors):
    """Unnormalised probability of every joint value, by a plain loop."""
    table = {}
    for values in itertools.product(*(range(size) for size in sizes.values())):
        at = dict(zip(sizes, values, strict=True))
        table[values] = np.prod([f.table[tuple(at[v] for v in f.scope)] for f in graph_factors])
    return table


def p_value(drawn, sizes, table):
    """Chi-square test of drawn joint values against enumerated probabilities."""
    rows = list(zip(*(drawn[name].tolist() for name in sizes), strict=True))
    total = sum(table.values())
    expected = np.array([len(rows) * weight / total for weight in table.values()])
    observed = np.array([rows.count(values) for values in table])
    return chi2.sf(((observed - expected) ** 2 / expected).sum(), len(expected) - 1)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("merged", [0, 10**6])
@pytest.mark.parametrize("start", [None, "x2"])
def test_total_equals_the_sum_over_all_joint_values(seed, merged, start, monkeypatch):
    monkeypatch.setattr(module, "MERGED", merged)
    sizes, graph_factors = random_graph(seed)
    total = sum(enumerated(sizes, graph_factors).values())
    graph = FactorGraph(sizes, graph_factors, start)
    assert graph.log_total == pytest.approx(log(total), abs=1e-12)


@pytest.mark.parametrize("merged", [0, 10**6])
def test_draws_follow_the_enumerated_law(merged, monkeypatch):
    monkeypatch.setattr(module, "MERGED", merged)
    monkeypatch.setattr(module, "CHUNK", 700)
    sizes, graph_factors = random_graph(3)
    drawn = FactorGraph(sizes, graph_factors).extend({}, 4000, np.random.default_rng(0), sizes)
    assert p_value(drawn, sizes, enumerated(sizes, graph_factors)) > 0.01


def test_drawing_in_two_parts_and_selecting_between_gives_the_conditional_law():
    sizes, graph_factors = random_graph(4)
    graph, rng = FactorGraph(sizes, graph_factors), np.random.default_rng(0)
    first = graph.extend({}, 8000, rng, ["x1"])
    keep = first["x1"] == 2
    kept = {name: column[keep] for name, column in first.items()}
    drawn = graph.extend(kept, int(keep.sum()), rng, sizes)
    table = {k: v for k, v in enumerated(sizes, graph_factors).items() if k[1] == 2}
    assert p_value(drawn, sizes, table) > 0.01


def test_variables_that_share_nothing_are_drawn_independently():
    table = np.array([1.0, 3.0])
    graph = FactorGraph({"a": 2, "b": 2}, [Factor(("a",), table), Factor(("b",), table)])
    drawn = graph.extend({}, 4000, np.random.default_rng(0), graph.names)
    joint = {(a, b): table[a] * table[b] for a in range(2) for b in range(2)}
    assert graph.log_total == pytest.approx(log(16))
    assert p_value(drawn, {"a": 2, "b": 2}, joint) > 0.01


def test_elimination_walks_along_a_ring_from_the_start():
    names = [f"x{i}" for i in range(10)]
    scopes = tuple(tuple(names[(i + k) % 10] for k in range(3)) for i in range(10))
    order = elimination_order(tuple((name, 2) for name in names), scopes, "x4")
    assert order[0] == "x4"
    done = {4}
    for name in order[1:6]:
        position = int(name[1:])
        assert {(position - 1) % 10, (position + 1) % 10} & done
        done.add(position)
