"""Same seed, same machine, same bits: however often, in whatever company, on however many jobs."""

import json
import os
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from stablepred import (
    DGBRClassifier,
    DLRClassifier,
    FrozenWeights,
    GBRClassifier,
    GlobalBalancer,
    StableClassifier,
    StableFeatureSelector,
    StableRegressor,
    error_interval,
    load,
    stability_report,
    stress_test,
)
from stablepred.core import resources
from stablepred.core.resources import threads_for
from stablepred.data import Environment, SyntheticWorld
from stablepred.search import StableSearchCV

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::stablepred.exceptions.StablepredWarning"),
]

FEW = {"max_iter": 12, "random_state": 0}
MODELS = {
    "balancer": GlobalBalancer(max_iter=12),
    "gbr": GBRClassifier(**FEW),
    "dlr": DLRClassifier(**FEW),
    "dgbr": DGBRClassifier(**FEW),
    "stable": StableClassifier(random_state=0),
    "stable of lr": StableClassifier(LogisticRegression(), random_state=0),
    "stable number": StableRegressor(random_state=0),
    "selector": StableFeatureSelector(random_state=0),
}


def content(model, folder):
    """All that a model holds, as bytes."""
    path = folder / f"{threading.get_ident()}"
    model.save(path)
    return path.read_bytes()


@pytest.mark.parametrize("name", MODELS)
def test_a_fit_is_the_same_however_often_and_after_whatever_else(name, table, tmp_path):
    first = content(clone(MODELS[name]).fit(table.X, table.y), tmp_path)
    np.random.seed(7)  # noqa: NPY002 - the generators that others use
    torch.manual_seed(7)
    kept = [np.empty(k) for k in (13, 1001, 77)]  # memory lies elsewhere
    GBRClassifier(random_state=3, max_iter=3).fit(table.X.iloc[:60], table.y[:60])
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    assert content(clone(MODELS[name]).fit(table.X, table.y), tmp_path) == first
    assert (np.random.get_state()[1] == before).all()  # noqa: NPY002
    del kept


@pytest.mark.parametrize("kind", [GBRClassifier, DGBRClassifier])
def test_algorithm_1_is_the_same_with_one_thread_and_with_two(kind, table, tmp_path):
    def fitted(threads):
        torch.set_num_threads(threads)
        with threadpool_limits(threads):
            return content(kind.from_paper(random_state=0).fit(table.X, table.y), tmp_path)

    before = torch.get_num_threads()
    try:
        assert fitted(1) == fitted(2)
    finally:
        torch.set_num_threads(before)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
@pytest.mark.parametrize(
    "model",
    [
        *MODELS.values(),
        DGBRClassifier.from_paper(**FEW),
        DGBRClassifier.from_paper(**FEW, order=2),
        DGBRClassifier(**FEW, order=2),
        DGBRClassifier(**FEW, head="features"),
        DGBRClassifier(**FEW, frozen=FrozenWeights(reduced=True, bias_bound=1.0)),
    ],
)
def test_a_fit_on_a_gpu_is_the_same_every_time(model, table, tmp_path):
    model.set_params(device="cuda")
    first, again = (content(clone(model).fit(table.X, table.y), tmp_path) for _ in range(2))
    assert again == first


def test_fits_in_threads_do_not_disturb_each_other(table, tmp_path):
    def fitted(name):
        return content(clone(MODELS[name]).fit(table.X, table.y), tmp_path)

    alone = {name: fitted(name) for name in MODELS}
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(fitted, [*MODELS, *MODELS])) == [*alone.values(), *alone.values()]


def test_small_problems_have_one_thread_in_every_thread_of_python():
    found = {}
    ready, inside, done = threading.Event(), threading.Event(), threading.Event()

    def other():
        torch.zeros(10).exp()
        found["other before"] = torch.get_num_threads()
        ready.set()
        inside.wait(60)
        with threads_for(10):
            found["other inside"] = torch.get_num_threads()
        found["other after"] = torch.get_num_threads()
        done.set()

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        thread = threading.Thread(target=other)
        thread.start()
        ready.wait(60)
        with threads_for(10):
            inside.set()
            done.wait(60)
            with threads_for(5):
                pass
            found["inside"] = torch.get_num_threads()
            with threads_for(resources.LARGE):
                found["large inside"] = torch.get_num_threads()
        found["after"] = torch.get_num_threads()
        thread.join()
    finally:
        torch.set_num_threads(before)
    assert found == {
        "other before": 2,
        "other inside": 1,
        "other after": 2,
        "inside": 1,
        "large inside": 1,
        "after": 2,
    }


def test_a_search_does_not_depend_on_the_number_of_jobs(table, tmp_path):
    model = GBRClassifier(l1=0.003, refit=False, max_iter=5)

    def search(n_jobs):
        grid = {"weight_l2": [0.01, 0.1]}
        return StableSearchCV(model, grid, cv=2, n_jobs=n_jobs, random_state=0).fit(
            table.X, table.y
        )

    one, two = search(1), search(2)
    for name in one.cv_results_.keys() - {"params"}:
        if name.endswith("_time"):
            continue
        np.testing.assert_array_equal(one.cv_results_[name], two.cv_results_[name], err_msg=name)
    assert content(one.best_estimator_, tmp_path) == content(two.best_estimator_, tmp_path)


def test_reports_are_the_same_again(table):
    model = GBRClassifier(l1=0.003, refit=False, **FEW).fit(table.X, table.y)
    tests = [
        Environment(name, table.X.iloc[part], table.y[part])
        for name, part in (("a", slice(60)), ("b", slice(60, None)))
    ]
    train = Environment("train", table.X, table.y)
    reports = [stability_report(model, tests, train=train, n_bootstrap=50) for _ in range(2)]
    pd.testing.assert_frame_equal(reports[0].errors, reports[1].errors, check_exact=True)
    stressed = [stress_test(model, table.X, table.y) for _ in range(2)]
    pd.testing.assert_frame_equal(stressed[0].errors, stressed[1].errors, check_exact=True)
    intervals = [error_interval(model, tests, n_bootstrap=50, random_state=3) for _ in range(2)]
    pd.testing.assert_frame_equal(*intervals, check_exact=True)


FIT = """
    import json, sys, warnings
    warnings.simplefilter("ignore")
    import torch
    from stablepred import DGBRClassifier, GBRClassifier
    from stablepred.core import resources
    from stablepred.data import SyntheticWorld
    resources.LARGE = 0  # as large tables are fitted
    train = SyntheticWorld("s_indep_v").sample(500, bias_rate=0.75, random_state=0)
    models = [
        GBRClassifier(l1=0.003, refit="weighted", max_iter=10, random_state=0),
        DGBRClassifier(l1=0.0, refit=False, max_iter=2, random_state=0),
    ]
    found = [model.fit(train.X, train.y).predict_proba(train.X)[:, 1].tolist() for model in models]
    print(json.dumps([torch.get_num_threads(), found]))
"""


def test_other_numbers_of_threads_agree_where_l1_is_fixed():
    found = {}
    for count in (1, 2):
        set_to = dict.fromkeys(("OMP", "MKL", "OPENBLAS"), str(count))
        env = os.environ | {f"{name}_NUM_THREADS": value for name, value in set_to.items()}
        env["OMP_WAIT_POLICY"] = "PASSIVE"  # threads that spin are slow beside other tests
        code = [sys.executable, "-c", textwrap.dedent(FIT)]
        done = subprocess.run(code, env=env, capture_output=True, text=True, check=True)
        used, found[count] = json.loads(done.stdout)
        assert used == count
    np.testing.assert_allclose(found[1], found[2], rtol=0, atol=1e-6)


def test_blas_on_other_numbers_of_threads_agrees_where_l1_is_fixed():
    train = SyntheticWorld("s_indep_v").sample(3000, bias_rate=0.75, random_state=0)
    found = []
    for count in (1, 2):
        with threadpool_limits(count):
            model = GBRClassifier(l1=0.003, refit="weighted", random_state=0).fit(train.X, train.y)
        found.append(model.predict_proba(train.X))
    np.testing.assert_allclose(*found, rtol=0, atol=1e-6)


# --- without a random_state ---


@pytest.mark.parametrize("name", ["gbr", "dlr", "dgbr", "stable", "stable of lr", "selector"])
def test_the_seed_in_use_repeats_the_fit(name, table, tmp_path):
    model = clone(MODELS[name]).set_params(random_state=None).fit(table.X, table.y)
    assert type(model.random_state_) is int
    again = clone(model).set_params(random_state=model.random_state_).fit(table.X, table.y)
    assert content(again, tmp_path) == content(
        model.set_params(random_state=model.random_state_), tmp_path
    )


def test_seeds_that_are_not_given_differ(table):
    seeds = {DLRClassifier(max_iter=1).fit(table.X, table.y).random_state_ for _ in range(3)}
    assert len(seeds) == 3


@pytest.mark.parametrize("given", [5, np.int64(5), -1])
def test_a_seed_that_is_given_is_the_one_in_use(given, table, tmp_path):
    model = DLRClassifier(max_iter=1, random_state=given).fit(table.X, table.y)
    assert model.random_state_ == given
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").random_state_ == given


def test_a_generator_gives_the_seed_in_use(table):
    model = DLRClassifier(max_iter=1, random_state=np.random.RandomState(4)).fit(table.X, table.y)
    expected = np.random.RandomState(4).randint(np.iinfo(np.int32).max)
    assert model.random_state_ == expected


def test_a_search_without_a_seed_can_be_repeated(table):
    model, grid = DLRClassifier(max_iter=2), {"network_l2": [3e-4, 3e-3]}
    first = StableSearchCV(model, grid, cv=2).fit(table.X, table.y)
    again = StableSearchCV(model, grid, cv=2, random_state=first.random_state_)
    again.fit(table.X, table.y)
    assert (again.cv_results_["criterion"] == first.cv_results_["criterion"]).all()
    assert (again.predict_proba(table.X) == first.predict_proba(table.X)).all()
