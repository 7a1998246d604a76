"""The benchmarks run, on tiny data, and compare things that are equal."""

import importlib
import json
from pathlib import Path

import pytest
import torch

from stablepred.weights.embedded import FixedEncoder, embedding_scale
from stablepred.weights.raw import balance_and_gradient

FOLDER = Path(__file__).parent.parent / "benchmarks"
SCRIPTS = [
    "baselines",
    "evidence",
    "gram_evaluation",
    "growth",
    "same_balance",
    "two_processes",
    "whole_fit",
]


@pytest.fixture
def load(monkeypatch):
    """Import a module of the benchmarks as a script beside it would."""
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module


@pytest.fixture
def weights(load):
    """Uneven weights of the rows, which sum to their number."""
    generator = torch.Generator().manual_seed(1)
    w = torch.rand(300, generator=generator, dtype=torch.float64)
    return (w * len(w) / w.sum()).requires_grad_()


def with_gradient(loss, w):
    (gradient,) = torch.autograd.grad(loss, w)
    return loss.detach(), gradient


def assert_equal(ours, theirs):
    for mine, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-10, atol=1e-10)


def test_the_loop_and_the_library_have_the_same_raw_loss_and_gradient(load, weights):
    x = load("problems").world_rows(300, 10).x
    loop = load("per_feature_loop").loop_balance(x, weights)
    with torch.no_grad():
        library = balance_and_gradient(x, weights)
    assert_equal(library, with_gradient(loop, weights))


def test_the_loop_and_the_library_have_the_same_embedded_loss_and_gradient(load, weights):
    problems = load("problems")
    rows, network = problems.world_rows(300, 10), problems.start_network(10)
    scale = embedding_scale(rows, network.encode(rows.x))
    library = FixedEncoder(network.encoder, rows.x, scale)(weights.detach())
    loop = load("per_feature_loop").loop_balance(rows.x, weights, network.encode, scale)
    assert_equal(library, with_gradient(loop, weights))


@pytest.mark.slow
def test_the_loop_lowers_the_balance_and_stops_when_it_is_low_enough(load):
    loop = load("per_feature_loop")
    problems = load("problems")
    trace = loop.loop_weights(problems.world_rows(300, 10).x, problems.BALANCING, seconds=60.0)
    assert trace.balance[0] > trace.balance[10]
    assert trace.balance[-1] < loop.ENOUGH or len(trace.balance) == loop.STEPS
    assert trace.first_at_most(trace.balance[10]) <= 10
    assert trace.first_at_most(-1.0) is None


def test_exponents_are_those_that_the_times_were_made_with(load):
    cells = {(n, p): {"side": 1e-9 * n * p**2} for n in (10, 100, 1000) for p in (2, 4, 8)}
    cells[1000, 8]["side"] = "about 99 s"
    found = load("growth").exponents(cells, "side")
    assert found == pytest.approx({"in n": 1.0, "in p": 2.0, "cells": 5})


def test_a_side_that_would_take_too_long_is_left_out_with_the_reason(load):
    smaller = {"library": 0.1, "loop": 7.0, "floor": "the process died"}
    reasons = load("growth").too_slow(smaller)
    assert reasons == {"loop": "about 70 s", "floor": "the process died"}


def test_a_side_that_needs_too_much_memory_fails_alone(load):
    answer = load("measure").in_child(torch.zeros, 1 << 42, threads=1)
    assert answer.startswith("needs more than")


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS)
def test_a_benchmark_prints_and_writes_its_results(script, load, tmp_path, capsys):
    load(script).main(["--quick", "--threads", "1", "--out", str(tmp_path)])
    text = (tmp_path / f"{script}.md").read_text()
    assert text in capsys.readouterr().out
    numbers = json.loads((tmp_path / f"{script}.json").read_text())
    assert all(numbers["tables"].values())
    assert numbers["machine"]["threads of torch"] == 1


def test_make_bench_runs_every_benchmark_with_a_page(load):
    makefile = (FOLDER.parent / "Makefile").read_text()
    (listed,) = (line for line in makefile.splitlines() if line.startswith("BENCHMARKS :="))
    assert sorted(listed.split()[2:]) == SCRIPTS
