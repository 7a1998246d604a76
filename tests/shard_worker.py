"""One process of a fit on row shards: what tests/test_distributed.py starts several of.

Usage: shard_worker.py fits|failures FOLDER; the number of the process and the way to the others are
in the environment, as torchrun sets them. Each process writes what it found to FOLDER/RANK.json.
"""

import json
import os
import sys
import time
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
from sklearn.model_selection import KFold

import stablepred
from stablepred.core import sharding
from stablepred.core.descent import Block
from stablepred.core.head import Head
from stablepred.core.networks import AutoEncoder, value_and_gradients
from stablepred.core.objective import (
    NetworkLoss,
    Strengths,
    all_terms,
    loss_of_weights,
    row_losses_and_errors,
)
from stablepred.core.sharding import LOCAL, Shards
from stablepred.data import SyntheticWorld
from stablepred.distributed import fit_shard
from stablepred.exceptions import StablepredWarning
from stablepred.heads.choice import Predictor
from stablepred.sample import Origin, Sample
from stablepred.weights import embedded
from stablepred.weights.embedded import EmbeddedBalance, FixedEncoder
from stablepred.weights.raw import RawBalance

# Nothing is chosen on folds: the same model as by one process.
MODELS = {
    "GlobalBalancer": stablepred.GlobalBalancer(),
    "GBR": stablepred.GBRClassifier(l1=0.01, refit=False, random_state=0),
    "GBR refitted": stablepred.GBRClassifier(l1=0.01, refit="weighted", random_state=0),
    "GBR of the paper": stablepred.GBRClassifier.from_paper(random_state=0),
    "DLR": stablepred.DLRClassifier(max_iter=2, random_state=0),
    "DGBR": stablepred.DGBRClassifier(
        l1=1e-3, refit=False, head="embedding", max_iter=2, random_state=0
    ),
    "DGBR on features": stablepred.DGBRClassifier(
        l1=1e-3, refit="weighted", head="features", max_iter=2, random_state=0
    ),
    "DGBR alternating": stablepred.DGBRClassifier(
        solver="alternating", l1=1e-3, refit=False, max_iter=2, random_state=0
    ),
    "FWDGBR": stablepred.DGBRClassifier(
        l1=1e-3, refit=False, head="embedding", frozen={"after": 1}, max_iter=2, random_state=0
    ),
}
# The folds are dealt per process: the same model on each, but not that of one process.
DEFAULTS = {
    "GBR": stablepred.GBRClassifier(random_state=0),
    "DLR": stablepred.DLRClassifier(random_state=0),
    "DGBR": stablepred.DGBRClassifier(random_state=0),
    "GBR without a refit": stablepred.GBRClassifier(refit=False, random_state=0),
    "DGBR on features": stablepred.DGBRClassifier(head="features", random_state=0),
}


def table(rows=300):
    """Numbers, text labels and sample weights, with many rows that stand in several shards."""
    train = SyntheticWorld("s_indep_v", n_features=7).sample(rows, bias_rate=0.75, random_state=0)
    rng = np.random.default_rng(0)
    X = np.asarray(train.X, dtype=float)
    X[:, 2] = X[:, 2] * 2 + rng.normal(size=rows)
    X[:, 5] = 7.0  # constant
    return X, np.where(np.asarray(train.y) > 0, "yes", "no"), rng.integers(0, 4, rows).astype(float)


def shard(rank, size, rows):
    """The rows of one process: unequal numbers, in no order."""
    order = np.random.default_rng(1).permutation(rows)
    return np.split(order, [rows // 3 + 10 * k for k in range(size - 1)])[rank]


def core_problem(shards=LOCAL, rows=200, p=6):
    """Losses over some rows, a function of variables that all have, and of the rows' own."""
    generator = torch.Generator().manual_seed(3)
    draw = {"generator": generator, "dtype": torch.float64}
    x, y = (torch.rand(rows, p, **draw) < 0.4).double(), (torch.rand(rows, **draw) < 0.5).double()
    mass, omega = torch.rand(rows, **draw), torch.rand(rows, **draw)
    network = AutoEncoder.random(p, (4, 3), generator)
    head = Head(torch.randn(3, **draw), torch.randn((), **draw))
    mine = np.arange(rows) if shards is LOCAL else shard(shards.rank, shards.size, rows)
    mass = mass / mass.sum()
    own = np.arange(len(mine))
    origin = Origin([f"x{j}" for j in range(p)], np.arange(p), own, own >= 0, rows)
    ones = torch.ones(len(mine), dtype=torch.float64)
    sample = Sample(x[mine], y[mine], mass[mine], ones, origin, [], shards=shards)
    return sample, omega[mine], network, head, mine


def losses_and_gradients(sample, omega, network, head):
    """Each loss with its gradient in the rows' own variables or in the network."""
    strengths = Strengths(
        balance=1.0, reconstruction=0.1, weight_l2=0.3, l2=0.01, weight_sum=0.7, network_l2=0.02
    )
    v = sample.mass * omega
    terms = all_terms(sample, omega, head, network, torch.zeros((), dtype=torch.float64))
    found = {"terms": (float(sum(terms.values())), torch.zeros_like(omega))}
    losses, errors = row_losses_and_errors(sample, head, network)
    raw = RawBalance().prepare(sample)
    many = len(sample.x) > 100  # in some shards, in others not
    embedded.TOGETHER["cpu"] = 300
    of_rows = {
        "raw": raw,
        "weights": lambda v: loss_of_weights(sample, strengths, raw, losses, errors)(
            v / sample.mass
        ),
        "standardized embedding": EmbeddedBalance().prepare(sample, network),
    }
    for name, room in {"kept": None, "made": 0, "kept by some": 0 if many else None}.items():
        of_rows[f"{name} embedding"] = FixedEncoder(
            network.encoder, sample.x, None, None, sample.shards, keep_at_most=room
        )
    for name, loss in of_rows.items():
        value, gradient = loss(v)
        found[name] = float(value), gradient
    value, slopes = NetworkLoss(sample, omega, strengths)(network, head)
    found["network"] = float(value), torch.cat([slope.reshape(-1) for slope in slopes])
    common = network.parameters()
    encoder = common[: 2 * len(network.encoder)]

    def balance(variables):
        everywhere = sample.shards.in_every_shard(variables)
        rebuilt = network.rebuild([*everywhere, *common[len(encoder) :]])
        return EmbeddedBalance().of_network(sample, omega, rebuilt)

    value, slopes = value_and_gradients(balance, encoder)
    found["balance in the network"] = (
        float(value),
        torch.cat([slope.reshape(-1) for slope in slopes]),
    )
    return found


def check_core():
    """Differences from one process: losses, gradients; and the bytes of one evaluation."""
    shards = Shards(dist.group.WORLD, sharding.timedelta(seconds=60))
    with torch.no_grad():
        alone = losses_and_gradients(*core_problem()[:4])
        sample, omega, network, head, mine = core_problem(shards)
    together = losses_and_gradients(sample, omega, network, head)
    differences = {}
    for name, (value, slopes) in together.items():
        expected, of_all = alone[name]
        of_mine = of_all if "network" in name else of_all[mine]
        differences[name] = abs(value - expected), float((slopes - of_mine).abs().max())
    # A prediction that differs from one process to the next, and nowhere else.
    x = torch.full_like(sample.x, float(shards.rank > 0))
    slope = Head(torch.ones(x.shape[1], dtype=torch.float64), omega.new_zeros(()))
    constant = Predictor(slope).is_constant(replace(sample, x=x))
    found = {"differences": differences, "constant": constant}
    return found | {"bytes": count_bytes(sample, omega, network, head)}


def count_bytes(sample, omega, network, head):
    """Bytes of the messages of each kind of evaluation."""
    sent = []
    send = dist.all_reduce

    def counted(message, *arguments, **options):
        sent.append(message.numel() * message.element_size())
        return send(message, *arguments, **options)

    v = sample.mass * omega
    raw = RawBalance().prepare(sample)
    fixed = FixedEncoder(network.encoder, sample.x, None, None, sample.shards)
    step = Block([omega.clone()], steps=2, total=sample.total)

    def of_omega():
        (variable,) = step.variables
        value, gradient = raw(sample.mass * variable.square())
        return value, [2 * variable * sample.mass * gradient]

    found = []
    dist.all_reduce = counted
    for evaluate in (
        lambda: raw(v),
        lambda: NetworkLoss(sample, omega, Strengths())(network, head),
        lambda: fixed(v),
        lambda: step.lower(of_omega),
    ):
        sent.clear()
        evaluate()
        found.append(sorted(sent))
    dist.all_reduce = send
    return found


def cuts_of(model):
    """Where the numbers are cut, or else what they are standardised by."""
    if model.dichotomize is not None:
        return model.dichotomizer_.thresholds_
    part = model.standardizer_
    return np.concatenate([part.means_, part.scales_, part.low_, part.high_])


def check_fits(rank, size, folder):
    """Differences of each model from the one that a single process fits."""
    X, y, weight = table()
    mine = shard(rank, size, len(y))
    found = {}
    for name, model in MODELS.items():
        fit_shard(model, X[mine], y[mine], weight[mine])
        one = type(model)(**model.get_params()).fit(X, y, weight)
        balancer = name == "GlobalBalancer"
        weights = "weights_" if balancer else "sample_weight_"
        pairs = {
            "weights": (getattr(model, weights), getattr(one, weights)[mine]),
            "imbalance": (model.balance_report_.after, one.balance_report_.after),
            "share": (model.balance_report_.effective_share, one.balance_report_.effective_share),
            "rows": (model.balance_report_.n_rows, one.balance_report_.n_rows),
            "cuts": (cuts_of(model), cuts_of(one)),
            "history": (model.history_["total"], one.history_["total"]),
        }
        if not balancer:
            effects = ["effect"]
            pairs |= {
                "coefficients": (model.coef_, one.coef_),
                "intercept": (model.intercept_, one.intercept_),
                "effects": (
                    model.feature_effects_[effects].to_numpy(float),
                    one.feature_effects_[effects].to_numpy(float),
                ),
                "predictions": (model.predict_proba(X), one.predict_proba(X)),
            }
            assert model.classes_.tolist() == ["no", "yes"]
        arrays = {k: [np.asarray(value) for value in pair] for k, pair in pairs.items()}
        found[name] = {k: float(np.abs(a - b).max()) for k, (a, b) in arrays.items()}
        if rank == 0:
            model.save(folder / "model.stablepred")
            again = stablepred.load(folder / "model.stablepred")
            assert again.history_["total"].tolist() == model.history_["total"].tolist()
    found["defaults"] = {name: fit_default(name, X, y, weight, mine) for name in DEFAULTS}
    random = stablepred.DLRClassifier(max_iter=1)
    found["without a seed"] = fit_shard(random, X[mine], y[mine]).coef_.tolist()
    return found


def fit_default(name, X, y, weight, mine):
    """What a fit with default parameters gives: its predictions, and how good they are."""
    model = fit_shard(DEFAULTS[name], X[mine], y[mine], weight[mine])
    one = type(model)(**model.get_params()).fit(X, y, weight)
    target = y == "yes"
    errors = [
        float(np.average((target - fitted.predict_proba(X)[:, 1]) ** 2, weights=weight))
        for fitted in (model, one)
    ]
    rate = np.average(target, weights=weight)
    return {
        "predictions": model.predict_proba(X)[:, 1].tolist(),
        "recipe": repr(model.recipe_),
        "stable": model.stable_features_.tolist(),
        "errors": [*errors, float(rate * (1 - rate))],
        "rows": len(model.sample_weight_) == len(mine),
    }


# --- what goes wrong ----------------------------------------------------------------------------


def error_of(action):
    """Kind and message of what an action raises, and the seconds it took."""
    start = time.monotonic()
    try:
        action()
    except Exception as error:
        return [type(error).__name__, str(error), time.monotonic() - start]
    return ["", "", time.monotonic() - start]


def at_message(number, action):
    """Do something in place of a process's so-many-th message."""
    reduce, seen = Shards.reduce, []

    def instead(self, *arguments):
        seen.append(1)
        if len(seen) == number:
            action()
        return reduce(self, *arguments)

    Shards.reduce = instead
    return lambda: setattr(Shards, "reduce", reduce)


def check_failures(rank, size, folder):
    """What each process is told when one of them, the second, is to blame."""
    X, y, _ = table()
    mine = shard(rank, size, len(y))
    X, y = X[mine], y[mine]
    model = MODELS["GBR"]
    guilty = rank == 1
    bad = {
        "no rows": lambda: fit_shard(model, X[:0] if guilty else X, y[:0] if guilty else y),
        "columns": lambda: fit_shard(model, X[:, :6] if guilty else X, y),
        "parameters": lambda: fit_shard(model.set_params(l1=0.02 if guilty else 0.01), X, y),
        "missing value": lambda: fit_shard(model, X * (np.nan if guilty else 1.0), y),
        "splitter": lambda: fit_shard(stablepred.GBRClassifier(cv=KFold(3)), X, y),
        "median": lambda: fit_shard(stablepred.GBRClassifier(dichotomize="median"), X, y),
        "checkpoint": lambda: fit_shard(stablepred.GBRClassifier(checkpoint="c"), X, y),
        "screen": lambda: fit_shard(stablepred.StableClassifier(), X, y),
        "order": lambda: fit_shard(stablepred.GlobalBalancer(order=2), X),
        "kind": lambda: fit_shard(stablepred.Dichotomizer(), X, y),
        "three labels": lambda: fit_shard(model, X, np.where(y == "no", "no", f"yes{rank}")),
    }
    found = {}
    for name, action in bad.items():
        found[name] = error_of(action)
        model.set_params(l1=0.01)
    model = stablepred.GlobalBalancer(max_iter=2)

    def full():
        raise MemoryError("no room")

    restore = at_message(30, full) if guilty else lambda: None
    found["failure"] = error_of(lambda: fit_shard(model, X, y))
    restore()
    restore = at_message(30, lambda: time.sleep(4)) if guilty else lambda: None
    found["slow"] = error_of(lambda: fit_shard(model, X, y, timeout=1.5))
    restore()
    found["afterwards"] = error_of(lambda: fit_shard(model, X, y))
    if guilty:
        (folder / f"{rank}.json").write_text(json.dumps(found))
        at_message(30, lambda: os._exit(3))
    found["death"] = error_of(lambda: fit_shard(model, X, y, timeout=20))
    return found


def main(task, folder):
    warnings.simplefilter("ignore", StablepredWarning)
    torch.set_num_threads(1)
    if task == "fits":
        rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        found = check_fits(rank, size, folder)  # fit_shard joins the processes by itself
        found["core"] = check_core()
    else:
        dist.init_process_group("gloo", timeout=sharding.timedelta(seconds=60))
        found = check_failures(dist.get_rank(), dist.get_world_size(), folder)
    (folder / f"{dist.get_rank()}.json").write_text(json.dumps(found))
    if task == "fits":
        dist.barrier()
        dist.destroy_process_group()
    # A group that has lost a member cannot be closed in order, and gloo's own threads may outlive
    # the one that is closed: what was to be found is written.
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
