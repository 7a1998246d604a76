"""Fits on row shards: the same as one process, and no hang when a process is gone."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import stablepred
from stablepred.distributed import fit_shard
from stablepred.exceptions import InputError

WORKER = Path(__file__).parent / "shard_worker.py"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (torch.distributed.is_available() and torch.distributed.is_gloo_available()),
        reason="this build of torch has no gloo",
    ),
]


def environment(**more):
    return os.environ | {"OMP_NUM_THREADS": "1"} | more


@pytest.fixture(scope="module", params=[2, 3])
def fits(request, tmp_path_factory):
    """What each process of a run by torchrun found: differences from one process."""
    folder = tmp_path_factory.mktemp("fits")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += ["--nproc-per-node", str(request.param), str(WORKER), "fits", str(folder)]
    done = subprocess.run(
        command, env=environment(), capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    return [json.loads((folder / f"{k}.json").read_text()) for k in range(request.param)]


@pytest.fixture(scope="module")
def failures(tmp_path_factory):
    """What the processes that are left were told; torchrun would end them all with the first."""
    folder = tmp_path_factory.mktemp("failures")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    processes = []
    for rank in range(3):
        variables = environment(
            RANK=str(rank), WORLD_SIZE="3", MASTER_ADDR="127.0.0.1", MASTER_PORT=port
        )
        command = [sys.executable, str(WORKER), "failures", str(folder)]
        processes.append(subprocess.Popen(command, env=variables))
    for process in processes:
        process.wait(timeout=600)
    return [json.loads((folder / f"{k}.json").read_text()) for k in range(3)]


def test_losses_and_gradients_are_those_of_one_process(fits):
    for found in fits:
        for name, differences in found["core"]["differences"].items():
            assert max(differences) < 1e-10, name


def test_whether_a_prediction_is_constant_is_asked_of_all_rows(fits):
    assert not any(found["core"]["constant"] for found in fits)


def test_models_are_those_of_one_process(fits):
    """Coefficients, weights, reports and effects; intervals are drawn again."""
    for found in fits:
        for name, differences in found.items():
            if name in ("core", "defaults", "without a seed"):
                continue
            for what, difference in differences.items():
                assert difference < 1e-6, (name, what)


def test_default_parameters_give_the_same_model_on_every_process(fits):
    for found in fits:
        for name, fit in found["defaults"].items():
            for what in ("predictions", "recipe", "stable", "errors"):
                assert fit[what] == fits[0]["defaults"][name][what], (name, what)
            assert fit["rows"]


def test_default_parameters_predict_about_as_well_as_one_process_does(fits):
    for name, fit in fits[0]["defaults"].items():
        error, of_one, of_constant = fit["errors"]
        assert error < of_constant, name
        assert error < of_one + 0.02, name


def test_processes_without_a_seed_agree_on_one(fits):
    assert all(found["without a seed"] == fits[0]["without a seed"] for found in fits)


def test_an_evaluation_sends_as_many_bytes_as_the_docs_say(fits):
    """For p = 6 features and layers of 4 and 3 units; the formulas of docs/scale.md."""
    p, d = 6, 3
    weights, biases = 2 * (6 * 4 + 4 * 3), 4 + 3 + 4 + 6
    for found in fits:
        raw, network, embedded, step = found["core"]["bytes"]
        assert raw == [8 * (p * p + p + 1)]
        assert network == [8 * (1 + d + 1 + weights + biases)]
        assert embedded == [8 * (2 * p + 1), 8 * (2 * p * d + 1)]
        # Two steps. Each needs the inner products of the gradient and of the pairs so far (none,
        # then one), the first also two lengths; each trial is one evaluation and one slope.
        trials = step.count(raw[0]) - 1
        assert step == sorted([8 * 1, 8 * 9, 8 * 2] + [8] * trials + raw * (1 + trials))
        assert trials >= 2


# --- what goes wrong ---

INPUT = {
    "no rows": "rank 1: Found array with 0 sample(s)",
    "columns": "same columns, but rank 1 has None where rank 0 has 'x6'",
    "parameters": "rank 1 has 'l1=0.02' where rank 0 has 'l1=0.01'",
    "missing value": "rank 1: Input X contains NaN",
    "splitter": "cv must be a number of folds",
    "median": "dichotomize must be 'mean' or None",
    "checkpoint": "checkpoint must be None",
    "screen": "not StableClassifier",
    "order": "order must be 1",
    "kind": "not Dichotomizer",
    "three labels": "['no', 'yes0', 'yes1', 'yes2'] over all shards",
}


@pytest.mark.parametrize("case", INPUT)
def test_bad_input_of_one_process_is_an_error_on_all(failures, case):
    for found in failures:
        kind, message, _ = found[case]
        assert kind == "InputError"
        assert INPUT[case] in message


@pytest.mark.parametrize("case", ["failure", "death"])
def test_the_others_are_told_that_a_process_is_gone(failures, case):
    for found in (failures[0], failures[2]):
        kind, message, _ = found[case]
        assert kind == "ShardError"
        assert "another process has failed, has ended" in message
    assert "death" not in failures[1]
    assert failures[1]["failure"][:2] == ["MemoryError", "no room"]


def test_nobody_waits_longer_than_the_timeout(failures):
    for found in failures:
        kind, message, _ = found["slow"]
        assert kind == "ShardError"
        assert "timeout=1.5" in message


def test_a_failed_fit_leaves_the_processes_fit_for_the_next(failures):
    assert [found["afterwards"][0] for found in failures] == ["", "", ""]


def test_without_other_processes_the_error_says_how_to_start_them(monkeypatch):
    monkeypatch.delenv("RANK", raising=False)
    with pytest.raises(InputError, match="torchrun"):
        fit_shard(stablepred.GlobalBalancer(), np.eye(4))
