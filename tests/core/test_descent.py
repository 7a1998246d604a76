import pytest
import torch

from stablepred.core.descent import Block


def test_a_block_finds_the_minimum_of_a_quadratic():
    variable = torch.tensor([5.0, -3.0], dtype=torch.float64)
    target = torch.tensor([1.0, 2.0], dtype=torch.float64)
    block = Block([variable])
    for _ in range(5):
        block.lower(lambda: ((variable - target) ** 2 * torch.tensor([1.0, 10.0])).sum())
    torch.testing.assert_close(variable.detach(), target, rtol=0, atol=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_the_objective_never_rises_on_a_rough_function(seed):
    variable = 3 * torch.randn(4, generator=torch.Generator().manual_seed(seed)).double()
    block = Block([variable], steps=3)

    def rough():
        return (variable**2).sum() + 5 * torch.sin(7 * variable).sum()

    last = float(rough().detach())
    for _ in range(20):
        block.lower(rough)
        value = float(rough().detach())
        assert value <= last
        last = value


def test_steps_onto_values_that_are_not_finite_are_undone():
    variable = torch.tensor([1.0], dtype=torch.float64)
    block = Block([variable])
    calls = []

    def breaks_after_the_first_call():
        calls.append(1)
        return (variable**2).sum() * (1.0 if len(calls) < 3 else float("nan"))

    block.lower(breaks_after_the_first_call)
    assert variable.tolist() == [1.0]


def test_several_variables_are_lowered_together():
    a, b = torch.tensor([2.0]).double(), torch.tensor([[3.0]]).double()
    Block([a, b]).lower(lambda: ((a - 1) ** 2).sum() + ((b + 1) ** 2).sum())
    assert a.item() == pytest.approx(1, abs=1e-6)
    assert b.item() == pytest.approx(-1, abs=1e-6)
