import math

import pytest
import torch

from stablepred.core.descent import Block, Trial, strong_wolfe
from stablepred.core.networks import value_and_gradients


def of(function, *variables):
    """A function of variables as a block wants it."""
    return lambda: value_and_gradients(lambda leaves: function(*leaves), variables)


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1].square()).square() + (1 - x[:-1]).square()).sum()


def test_a_block_finds_the_minimum_of_a_quadratic():
    variable = torch.tensor([5.0, -3.0], dtype=torch.float64)
    target = torch.tensor([1.0, 2.0], dtype=torch.float64)
    block = Block([variable])
    stretch = torch.tensor([1.0, 10.0], dtype=torch.float64)
    for _ in range(5):
        block.lower(of(lambda x: ((x - target) ** 2 * stretch).sum(), variable))
    torch.testing.assert_close(variable, target, rtol=0, atol=1e-6)


def test_a_curved_valley_takes_no_more_evaluations_than_torch_needs():
    def counted(step, evaluations, reached):
        while reached() > 1e-9:
            step()
            assert evaluations[0] < 1000
        return evaluations[0]

    start = torch.linspace(-1.5, 1.5, 12, dtype=torch.float64)
    ours, calls = start.clone(), [0]
    evaluate = of(rosenbrock, ours)

    def count():
        calls[0] += 1
        return evaluate()

    block = Block([ours])
    needed = counted(lambda: block.lower(count, again=True), calls, lambda: float(rosenbrock(ours)))
    theirs, other = start.clone().requires_grad_(), [0]
    optimiser = torch.optim.LBFGS(
        [theirs], max_iter=10, max_eval=40, history_size=20, line_search_fn="strong_wolfe"
    )

    def closure():
        other[0] += 1
        optimiser.zero_grad()
        value = rosenbrock(theirs)
        value.backward()
        return value

    allowed = counted(
        lambda: optimiser.step(closure), other, lambda: float(rosenbrock(theirs.detach()))
    )
    assert needed <= 1.2 * allowed


@pytest.mark.parametrize("seed", range(5))
def test_the_objective_never_rises_on_a_rough_function(seed):
    variable = 3 * torch.randn(4, generator=torch.Generator().manual_seed(seed)).double()
    block = Block([variable], steps=3)

    def rough(x):
        return (x**2).sum() + 5 * torch.sin(7 * x).sum()

    last = float(rough(variable))
    for _ in range(20):
        value = block.lower(of(rough, variable))
        assert value == pytest.approx(float(rough(variable)), rel=1e-12)
        assert value <= last
        last = value


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_no_step_is_taken_onto_values_that_are_not_finite(bad):
    variable = torch.tensor([1.0], dtype=torch.float64)
    block = Block([variable])
    calls = []

    def breaks_after_the_first_call(x):
        calls.append(1)
        return (x**2).sum() * (1.0 if len(calls) < 2 else bad)

    assert block.lower(of(breaks_after_the_first_call, variable)) == 1.0
    assert variable.tolist() == [1.0]


def test_an_edge_beyond_which_the_function_is_not_finite_is_not_crossed():
    variable = torch.tensor([4.0], dtype=torch.float64)
    block = Block([variable])
    for _ in range(5):
        block.lower(of(lambda x: (x - torch.log(x)).sum(), variable))  # NaN below zero
    assert float(variable) == pytest.approx(1, abs=1e-6)


def test_no_step_is_taken_to_where_the_slope_is_not_known():
    variable = torch.tensor([4.0], dtype=torch.float64)
    block = Block([variable])

    def edge():  # the value goes on beyond 3.5, the gradient does not
        return variable.square().sum(), [torch.where(variable < 3.5, math.nan, 2 * variable)]

    for _ in range(3):
        block.lower(edge)
    assert 3.5 <= float(variable) < 4


def test_several_variables_are_lowered_together():
    a, b = torch.tensor([2.0]).double(), torch.tensor([[3.0]]).double()
    Block([a, b]).lower(of(lambda a, b: ((a - 1) ** 2).sum() + ((b + 1) ** 2).sum(), a, b))
    assert a.item() == pytest.approx(1, abs=1e-6)
    assert b.item() == pytest.approx(-1, abs=1e-6)


def test_a_restored_block_goes_on_as_if_it_had_not_stopped():
    one = torch.linspace(-1, 2, 30, dtype=torch.float64)
    block, evaluate = Block([one], steps=4), of(rosenbrock, one)
    for _ in range(7):  # more steps than it remembers
        block.lower(evaluate)
    other = torch.zeros_like(one)
    again = Block([other], steps=4)
    state = block.state()
    again.restore({"variables": [v.clone() for v in state["variables"]], "memory": state["memory"]})
    for _ in range(3):
        assert block.lower(evaluate) == again.lower(of(rosenbrock, other))
        assert one.equal(other)


def test_a_block_that_was_moved_starts_from_there():
    variable = torch.tensor([5.0], dtype=torch.float64)
    block, evaluate = Block([variable], steps=1), of(lambda x: (x**4).sum(), variable)
    block.lower(evaluate)
    block.move_to([torch.tensor([10.0], dtype=torch.float64)])
    value = block.lower(evaluate, again=True)
    assert value == float(variable) ** 4
    assert value < 1e4


# --- along a line ---

LINES = {
    "parabola": (lambda t: (t - 1) ** 2, lambda t: 2 * (t - 1)),
    "far": (lambda t: (t - 500) ** 2 / 500, lambda t: 2 * (t - 500) / 500),
    "near": (lambda t: 1e6 * (t - 1e-4) ** 2, lambda t: 2e6 * (t - 1e-4)),
    "waves": (lambda t: math.cos(5 * t) - t / 2, lambda t: -5 * math.sin(5 * t) - 0.5),
    "flat end": (lambda t: math.exp(-t), lambda t: -math.exp(-t)),
}


@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize("step", [1e-3, 1.0, 50.0])
def test_the_line_search_meets_the_strong_wolfe_conditions(name, step):
    value, slope = LINES[name]

    def at(t):
        return Trial(t, value(t), slope(t), torch.zeros(1))

    start = at(0.0)
    found = strong_wolfe(at, start, step)
    assert found.value <= start.value + 1e-4 * found.step * start.slope
    assert abs(found.slope) <= 0.9 * abs(start.slope)


def test_a_line_that_only_rises_is_not_followed():
    start = Trial(0.0, 0.0, -1.0, torch.zeros(1))  # a gradient that is wrong
    assert strong_wolfe(lambda t: Trial(t, t, 1.0, torch.zeros(1)), start, 1.0) is start
