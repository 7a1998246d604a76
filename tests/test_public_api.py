"""The public names, and what importing them does not do."""

import importlib
import inspect
import json
import subprocess
import sys
import textwrap

import pytest

import stablepred

# The public names, exactly.
REQUIRED = {
    "BalancedClassifier",
    "BalancedRegressor",
    "DGBRClassifier",
    "DLRClassifier",
    "Dichotomizer",
    "FrozenWeights",
    "GBRClassifier",
    "GlobalBalancer",
    "OverlapFilter",
    "StableClassifier",
    "StableFeatureSelector",
    "StableRegressor",
    "TableEncoder",
    "__version__",
    "average_error",
    "compare",
    "environment_errors",
    "error_interval",
    "explain_drop",
    "load",
    "stability_error",
    "stability_price",
    "stability_report",
    "stress_test",
    "worst_error",
}

COMMON = {"random_state", "max_iter", "tol", "device", "verbose", "dichotomize", "checkpoint"}
BALANCER = {"order", "weight_l2", "weight_sum", "min_effective_share"}
GBR = BALANCER | {"balance", "l2", "l1", "solver", "refit", "cv", "fit_intercept"}
SCREEN = {"evidence", "guard", "cv", "random_state", "device", "verbose"}
DLR = {"reconstruction", "l2", "l1", "network_l2", "hidden", "fit_intercept"}
PARAMETERS = {
    "GlobalBalancer": COMMON | BALANCER,
    "GBRClassifier": COMMON | GBR,
    "DLRClassifier": COMMON | DLR,
    "DGBRClassifier": COMMON | GBR | DLR | {"head", "standardize", "frozen"},
    "BalancedClassifier": {"estimator", "balancer"},
    "BalancedRegressor": {"estimator", "balancer"},
    "StableClassifier": SCREEN | {"estimator", "n_jobs"},
    "StableRegressor": SCREEN | {"estimator", "n_jobs"},
    "StableFeatureSelector": SCREEN,
    "FrozenWeights": {"after", "reduced", "bias_bound", "network_bound"},
}
ESTIMATORS = ["Dichotomizer", "OverlapFilter", *(set(PARAMETERS) - {"FrozenWeights"})]
PREDICTION = {"predict", "predict_proba"}
# What a fitted model offers besides; other names would be others' to rely on.
OFFERS = {
    "GBRClassifier": PREDICTION | {"decision_function", "to_onnx", "fit_table", "from_paper"},
    "DLRClassifier": PREDICTION | {"decision_function", "to_onnx", "fit_table", "transform"},
    "DGBRClassifier": PREDICTION
    | {"decision_function", "to_onnx", "fit_table", "from_paper", "transform"},
    "GlobalBalancer": {"fit_table"},
    "StableClassifier": PREDICTION,
    "StableRegressor": {"predict", "score"},
    "StableFeatureSelector": {"transform", "fit_transform", "get_support", "get_feature_names_out"},
}
SCREENED = {
    *("variables_", "decision_", "stable_features_", "used_features_", "encoder_"),
    "random_state_",
}
FITTED = {
    "GlobalBalancer": {"weights_", "balance_report_", "n_iter_", "converged_", "history_"},
    "DLRClassifier": {"coef_", "intercept_", "encoders_", "feature_effects_", "random_state_"},
    "GBRClassifier": {
        *("classes_", "coef_", "intercept_", "sample_weight_", "n_iter_", "converged_", "history_"),
        *("balance_report_", "feature_effects_", "stable_features_", "used_features_", "recipe_"),
        "random_state_",
    },
    "StableClassifier": SCREENED | {"classes_", "estimator_", "columns_"},
    "StableRegressor": SCREENED | {"target_mean_", "target_scale_", "estimator_", "columns_"},
    "StableFeatureSelector": SCREENED,
}
FITTED["DGBRClassifier"] = FITTED["GBRClassifier"] | {"encoders_"}


def run(code):
    """Run code in a fresh interpreter and read what it prints as JSON."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


# --- names ---


def test_all_is_sorted_and_exact():
    assert stablepred.__all__ == sorted(stablepred.__all__)
    assert len(set(stablepred.__all__)) == len(stablepred.__all__)
    assert set(stablepred.__all__) == REQUIRED


def test_every_public_name_is_there():
    for name in stablepred.__all__:
        assert getattr(stablepred, name) is not None


def test_what_is_there_is_public():
    """No class or function stands beside the public names by accident."""
    for name, value in vars(stablepred).items():
        if not name.startswith("_") and not inspect.ismodule(value):
            assert name in stablepred.__all__, name


def test_a_star_import_gives_exactly_the_public_names():
    names = run("""
        import json
        before = set(globals())
        from stablepred import *
        print(json.dumps(sorted(set(globals()) - before - {"before"})))
    """)
    assert sorted(names) == sorted(name for name in stablepred.__all__)


def test_data_offers_its_names():
    from stablepred import data

    assert len(set(data.__all__)) == len(data.__all__)  # their order is the linter's
    assert {"Environment", "SyntheticWorld", "biased_sample"} <= set(data.__all__)
    for name in data.__all__:
        assert getattr(data, name) is not None


def test_theory_can_be_imported_from_the_package():
    from stablepred import theory

    assert inspect.ismodule(theory)


def test_the_version_is_that_of_the_distribution():
    from importlib.metadata import version

    assert stablepred.__version__ == version("stablepred")


def test_the_package_says_that_it_is_typed():
    from importlib.resources import files

    assert (files("stablepred") / "py.typed").is_file()


# --- signatures ---


@pytest.mark.parametrize("name", PARAMETERS)
def test_estimators_have_the_parameters_that_are_promised(name):
    signature = inspect.signature(getattr(stablepred, name).__init__)
    parameters = {key: value for key, value in signature.parameters.items() if key != "self"}
    assert PARAMETERS[name] == set(parameters)
    if not name.startswith("Balanced"):
        for key, parameter in parameters.items():
            if key != "estimator" and name != "FrozenWeights":
                assert parameter.kind is inspect.Parameter.KEYWORD_ONLY
            assert parameter.default is not inspect.Parameter.empty


@pytest.mark.parametrize("name", sorted(ESTIMATORS))
def test_every_estimator_takes_sample_weights_and_can_be_saved(name):
    kind = getattr(stablepred, name)
    assert "sample_weight" in inspect.signature(kind.fit).parameters
    assert callable(kind.save)


@pytest.mark.parametrize("name", OFFERS)
def test_estimators_offer_what_is_promised(name):
    kind = getattr(stablepred, name)
    assert all(callable(getattr(kind, method, None)) for method in OFFERS[name])
    gone = {"fit_batches", "share_through_outcome_", "explaining_away"} - OFFERS[name]
    assert not [attribute for attribute in gone if hasattr(kind, attribute)]


@pytest.mark.filterwarnings("ignore::stablepred.exceptions.StablepredWarning")
@pytest.mark.parametrize("name", FITTED)
def test_fitted_models_have_the_attributes_that_are_promised(name, table):
    model = getattr(stablepred, name)()
    if "max_iter" in model.get_params():
        model.set_params(max_iter=2)
    model.fit(table.X, table.y)
    assert not [attribute for attribute in FITTED[name] if not hasattr(model, attribute)]
    assert list(model.feature_names_in_) == list(table.X.columns)
    documented = inspect.getdoc(getattr(stablepred, name))
    others = "As in" in documented or "as in" in documented
    assert others or all(attribute in documented for attribute in FITTED[name])


@pytest.mark.parametrize("name", ["GBRClassifier", "DGBRClassifier"])
def test_the_paper_to_the_letter_is_a_constructor(name):
    kind = getattr(stablepred, name)
    assert type(kind.from_paper()) is kind
    assert not hasattr(stablepred.DLRClassifier, "from_paper")


@pytest.mark.parametrize("name", sorted(REQUIRED - {"__version__"}))
def test_every_public_name_has_a_docstring(name):
    assert len(inspect.getdoc(getattr(stablepred, name))) > 20


@pytest.mark.parametrize(
    "face", ["stablepred", "data", "search", "baselines", "plotting", "theory"]
)
def test_everything_public_has_a_docstring(face):
    module = stablepred if face == "stablepred" else importlib.import_module(f"stablepred.{face}")
    offered = {
        name: getattr(module, name) for name in module.__all__ if callable(getattr(module, name))
    }
    methods = {
        f"{name}.{key}": value
        for name, kind in offered.items()
        if inspect.isclass(kind)
        for key, value in vars(kind).items()
        if key[0] != "_" and (inspect.isfunction(value) or isinstance(value, property))
    }
    silent = [name for name, one in (offered | methods).items() if not inspect.getdoc(one)]
    assert silent == []


@pytest.mark.parametrize("name", [name for name in PARAMETERS if not name.startswith("Balanced")])
def test_every_parameter_is_in_the_docstring(name):
    kind = getattr(stablepred, name)
    text = inspect.getdoc(kind)
    for parameter in inspect.signature(kind.__init__).parameters:
        if parameter != "self":
            assert parameter in text, parameter


# --- importing ---

STATE = """
    import json, logging, os, random, signal, sys, threading, warnings
    import numpy, pandas, rich, safetensors.numpy, scipy.special, sklearn, torch, typer
    import sklearn.feature_selection, sklearn.linear_model, sklearn.model_selection
    import sklearn.utils.multiclass, sklearn.utils.estimator_checks, torch.utils.checkpoint

    def state():
        return {
            "numpy generator": repr(numpy.random.get_state()),
            "torch generator": torch.get_rng_state().tolist(),
            "torch seed": torch.initial_seed(),
            "python generator": repr(random.getstate()),
            "torch threads": torch.get_num_threads(),
            "torch interop threads": torch.get_num_interop_threads(),
            "torch dtype": repr(torch.get_default_dtype()),
            "torch gradients": torch.is_grad_enabled(),
            "torch determinism": torch.are_deterministic_algorithms_enabled(),
            "warning filters": [repr(f) for f in warnings.filters],
            "showwarning": repr(warnings.showwarning),
            "log handlers": repr(logging.root.handlers),
            "log level": logging.root.level,
            "log disabled": logging.root.manager.disable,
            "library handlers": repr(logging.getLogger("stablepred").handlers),
            "library level": logging.getLogger("stablepred").level,
            "numpy errors": repr(numpy.geterr()),
            "numpy printing": repr(numpy.get_printoptions()),
            "pandas options": repr(pandas.get_option("display.max_rows")),
            "sklearn": repr(sklearn.get_config()),
            # torch itself names a cache folder when its optimisers are first used
            "environment": {k: v for k, v in os.environ.items() if k != "TORCHINDUCTOR_CACHE_DIR"},
            "signals": repr([signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM)]),
            "excepthook": repr(sys.excepthook),
            "recursion": sys.getrecursionlimit(),
            "threads": threading.active_count(),
            "folder": os.getcwd(),
        }
"""


def test_importing_touches_no_global_state():
    before, after = run(
        STATE
        + """
    torch.manual_seed(5)
    numpy.random.seed(5)
    random.seed(5)
    torch.set_num_threads(2)
    before = state()
    import stablepred, stablepred.data, stablepred.theory
    print(json.dumps([before, state()]))
    """
    )
    assert before == after


def test_importing_prints_nothing_and_warns_of_nothing():
    done = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", "-c", "import stablepred"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_importing_is_light():
    """Names are imported when they are first used; until then no large library comes along."""
    loaded = run("""
        import json, sys
        import stablepred, stablepred.data, stablepred.search, stablepred.theory
        print(json.dumps(sorted(sys.modules)))
    """)
    heavy = {"torch", "jinja2", "rich", "matplotlib", "pyarrow", "typer", "polars", "duckdb"}
    assert not heavy & set(loaded)
    assert not [name for name in loaded if name.startswith(("studies", "stablepred.cli"))]


def test_a_fit_touches_no_global_state_either():
    before, after = run(
        STATE
        + """
    torch.manual_seed(5)
    numpy.random.seed(5)
    torch.set_num_threads(2)
    import stablepred
    rng = numpy.random.default_rng(0)
    X = (rng.random((80, 4)) < 0.5).astype(float)
    y = (X[:, 0] + X[:, 1] + rng.normal(0, 0.5, 80) > 1).astype(int)
    before = state()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for model in (
            stablepred.GlobalBalancer(max_iter=3),
            stablepred.GBRClassifier(max_iter=3, random_state=0),
            stablepred.DLRClassifier(max_iter=3, random_state=0),
            stablepred.DGBRClassifier(max_iter=3, random_state=0),
            stablepred.StableClassifier(random_state=0),
            stablepred.StableRegressor(random_state=0),
        ):
            model.fit(X, y)
    print(json.dumps([before, state()]))
    """
    )
    assert before == after
