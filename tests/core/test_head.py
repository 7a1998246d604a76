import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from samples import sample_of
from stablepred.core import head as module
from stablepred.core.head import Head, HeadProblem, zero_head

PENALTIES = [(0.01, 0.0), (0.0, 0.01), (0.003, 0.02), (1e-4, 1e-4), (0.1, 0.05)]


def problem(n=80, d=5, seed=0, binary=False):
    """Columns, outcome and uneven weights that sum to one."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, d)) if not binary else (rng.random((n, d)) < 0.5).astype(float)
    z[:, 1] = 0.7 * z[:, 0] + 0.3 * z[:, 1]
    y = (z[:, 0] - z[:, 2] + rng.logistic(size=n) > 0).astype(float)
    v = rng.exponential(size=n)
    return tuple(torch.as_tensor(a) for a in (z, y, v / v.sum()))


def fit_head(z, y, v, **options):
    """The head of rows with these columns, outcomes and total weights."""
    return module.fit_head(sample_of(torch.zeros(len(y), 1), y, v), z, v, **options)


def objective(head, z, y, v, l2, l1):
    """The value that ``fit_head`` lowers."""
    sample = sample_of(torch.zeros(len(y), 1), y, v)
    return float(HeadProblem(sample, z.T, v, l2, l1).value(head))


def violation(head, z, y, v, l2, l1, fit_intercept):
    """How far the optimality conditions of the penalised problem are from holding."""
    residual = v * (torch.sigmoid(head.scores(z)) - y)
    slope = z.T @ residual + 2 * l2 * head.beta
    zero = head.beta == 0
    gaps = torch.where(zero, (slope.abs() - l1).clamp_min(0), (slope + l1 * head.beta.sign()).abs())
    return max(float(gaps.max()), float(residual.sum().abs()) if fit_intercept else 0.0)


# --- it solves the problem ---


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize(("l2", "l1"), PENALTIES)
def test_the_solution_is_that_of_scikit_learn(l2, l1, fit_intercept):
    z, y, v = problem()
    head = fit_head(z, y, v, l2=l2, l1=l1, fit_intercept=fit_intercept)
    # scikit-learn: C sum v loss + (1 - r) / 2 ||beta||^2 + r ||beta||_1.
    strength = l1 + 2 * l2
    reference = LogisticRegression(
        C=1 / strength,
        l1_ratio=l1 / strength,
        solver="saga",
        fit_intercept=fit_intercept,
        tol=1e-10,
        max_iter=100_000,
        random_state=0,
    ).fit(z.numpy(), y.numpy(), sample_weight=v.numpy())
    np.testing.assert_allclose(head.beta.numpy(), reference.coef_[0], atol=2e-5)
    np.testing.assert_allclose(float(head.intercept), np.ravel(reference.intercept_)[0], atol=2e-5)


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize(("l2", "l1"), [*PENALTIES, (0.0, 0.0)])
@pytest.mark.parametrize("seed", range(3))
def test_the_solution_meets_the_optimality_conditions(l2, l1, fit_intercept, binary, seed):
    z, y, v = problem(seed=seed, binary=binary)
    head = fit_head(z, y, v, l2=l2, l1=l1, fit_intercept=fit_intercept)
    assert head.converged
    assert violation(head, z, y, v, l2, l1, fit_intercept) < 1e-7


def test_the_objective_is_loss_plus_both_penalties():
    z, y, v = problem(n=10)
    beta = torch.tensor([0.5, -1.0, 0.0, 2.0, 0.1], dtype=torch.float64)
    head = Head(beta, torch.tensor(0.3, dtype=torch.float64))
    by_hand = sum(
        float(v[i]) * np.log1p(np.exp((1 - 2 * float(y[i])) * (float(z[i] @ beta) + 0.3)))
        for i in range(10)
    )
    by_hand += 0.2 * (0.25 + 1 + 4 + 0.01) + 0.7 * 3.6
    assert objective(head, z, y, v, 0.2, 0.7) == pytest.approx(by_hand, rel=1e-12)


def test_rows_of_weight_zero_do_not_matter():
    z, y, v = problem()
    z2, y2 = torch.cat([z, 100 * z[:5]]), torch.cat([y, 1 - y[:5]])
    v2 = torch.cat([v, torch.zeros(5, dtype=torch.float64)])
    one = fit_head(z, y, v, l2=0.01, l1=0.01)
    other = fit_head(z2, y2, v2, l2=0.01, l1=0.01)
    torch.testing.assert_close(one.beta, other.beta, rtol=0, atol=1e-8)


# --- zeros ---


def test_l1_gives_exact_zeros():
    z, y, v = problem(d=8)
    beta = fit_head(z, y, v, l2=0.0, l1=0.03).beta
    assert 0 < int((beta == 0).sum()) < 8
    assert int(((beta != 0) & (beta.abs() < 1e-10)).sum()) == 0


def test_a_large_l1_leaves_the_base_rate():
    z, y, v = problem()
    head = fit_head(z, y, v, l2=0.0, l1=10.0)
    assert (head.beta == 0).all()
    assert float(torch.sigmoid(head.intercept)) == pytest.approx(float(v @ y), rel=1e-8)


def test_without_l1_no_coefficient_is_zero():
    z, y, v = problem()
    assert (fit_head(z, y, v, l2=0.01, l1=0.0).beta != 0).all()


def test_the_smallest_l1_that_empties_the_model_is_the_largest_slope_at_zero():
    z, y, v = problem()
    largest = float((z.T @ (v * (y - v @ y))).abs().max())
    assert (fit_head(z, y, v, l2=0.0, l1=largest * 1.001).beta == 0).all()
    assert (fit_head(z, y, v, l2=0.0, l1=largest * 0.99).beta != 0).any()


# --- starts ---


@pytest.mark.parametrize("l1", [0.0, 0.01])
def test_a_warm_start_is_never_changed(l1):
    z, y, v = problem()
    start = Head(torch.ones(5, dtype=torch.float64), torch.tensor(0.5, dtype=torch.float64))
    fit_head(z, y, v, l2=0.01, l1=l1, start=start)
    assert (start.beta == 1).all()
    assert float(start.intercept) == 0.5


@pytest.mark.parametrize("size", [0.0, 1.0, 30.0])
@pytest.mark.parametrize(("l2", "l1"), PENALTIES)
def test_the_start_does_not_change_the_solution(l2, l1, size):
    z, y, v = problem()
    cold = fit_head(z, y, v, l2=l2, l1=l1)
    start = Head(torch.full((5,), size, dtype=torch.float64), cold.intercept - size)
    warm = fit_head(z, y, v, l2=l2, l1=l1, start=start)
    torch.testing.assert_close(warm.beta, cold.beta, rtol=0, atol=1e-5)


@pytest.mark.parametrize("steps", [1, 2, 5])
@pytest.mark.parametrize("size", [0.0, 3.0, 50.0])
def test_the_objective_never_rises(size, steps):
    z, y, v = problem()
    head = Head(torch.full((5,), size, dtype=torch.float64), torch.tensor(-size).double())
    before = objective(head, z, y, v, 0.001, 0.01)
    after = fit_head(z, y, v, l2=0.001, l1=0.01, start=head, max_iter=steps)
    assert objective(after, z, y, v, 0.001, 0.01) <= before


def test_without_an_intercept_it_stays_zero():
    z, y, v = problem()
    head = fit_head(z + 3, y, v, l2=0.01, l1=0.01, fit_intercept=False)
    assert float(head.intercept) == 0
    assert violation(head, z + 3, y, v, 0.01, 0.01, False) < 1e-7


# --- hard data ---


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("l1", [0.0, 1e-9])
def test_separable_data_give_finite_coefficients_and_right_predictions(l1, fit_intercept):
    z, _, v = problem()
    y = (z[:, 0] > 0).double()
    head = fit_head(z, y, v, l2=0.0, l1=l1, fit_intercept=fit_intercept)
    assert torch.isfinite(head.beta).all()
    assert torch.isfinite(head.intercept)
    assert ((head.scores(z) > 0) == (y == 1)).all()


def test_separable_data_without_a_penalty_are_not_called_converged():
    z, _, v = problem(binary=True)
    assert not fit_head(z, z[:, 0].clone(), v, l2=0.0, l1=0.0).converged


def test_separable_data_with_a_penalty_converge():
    z, _, v = problem()
    y = (z[:, 0] > 0).double()
    head = fit_head(z, y, v, l2=1e-4, l1=1e-4)
    assert head.converged
    assert violation(head, z, y, v, 1e-4, 1e-4, True) < 1e-7


@pytest.mark.parametrize("l1", [0.0, 0.01])
def test_a_column_written_twice_shares_its_coefficient_under_l2(l1):
    z, y, v = problem()
    doubled = torch.cat([z, z[:, :1]], dim=1)
    head = fit_head(doubled, y, v, l2=0.01, l1=l1)
    assert torch.isfinite(head.beta).all()
    assert float(head.beta[0]) == pytest.approx(float(head.beta[5]), abs=1e-6)
    assert violation(head, doubled, y, v, 0.01, l1, True) < 1e-7


@pytest.mark.parametrize("l1", [0.0, 0.01])
def test_more_columns_than_rows_are_no_trouble(l1):
    z, y, v = problem(n=20, d=40)
    head = fit_head(z, y, v, l2=0.01, l1=l1)
    assert violation(head, z, y, v, 0.01, l1, True) < 1e-7


def test_one_class_only_gives_finite_numbers():
    z, _, v = problem()
    head = fit_head(z, torch.ones(80, dtype=torch.float64), v, l2=0.01, l1=0.01)
    assert torch.isfinite(head.beta).all()
    assert torch.isfinite(head.intercept)
    assert (torch.sigmoid(head.scores(z)) > 0.99).all()


def test_a_constant_column_gets_no_coefficient():
    z, y, v = problem()
    z = torch.cat([z, torch.ones(80, 1, dtype=torch.float64)], dim=1)
    for l1 in (0.0, 0.01):
        assert float(fit_head(z, y, v, l2=0.01, l1=l1).beta[-1]) == pytest.approx(0, abs=1e-9)


def test_the_zero_head_predicts_one_half():
    z, _, _ = problem()
    assert (torch.sigmoid(zero_head(z).scores(z)) == 0.5).all()
