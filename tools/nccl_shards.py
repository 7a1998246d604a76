"""Fits through nccl on a GPU beside plain fits on the same GPU.

With one process on one GPU every collective of a sharded fit is made, and the models must be the
same; with several processes, each on a GPU of its own, they agree up to the order of sums.

Run: torchrun --nproc-per-node 1 tools/nccl_shards.py
"""

import os
import warnings

import numpy as np
import torch
import torch.distributed as dist

from stablepred import DGBRClassifier, DLRClassifier, GBRClassifier
from stablepred.data import SyntheticWorld
from stablepred.distributed import fit_shard


def main() -> None:
    """Print the largest difference between the probabilities of the two fits."""
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    rank, size = dist.get_rank(), dist.get_world_size()
    rows = SyntheticWorld("s_indep_v", 20).sample(4000, bias_rate=0.75, random_state=0)
    X, y = rows.X, rows.y
    fixed = {"l1": 0.0, "device": "cuda", "random_state": 0}
    for model in (
        GBRClassifier(**fixed, refit=False),
        DLRClassifier(**fixed),
        DGBRClassifier(**fixed, refit="weighted"),
        DGBRClassifier.from_paper(device="cuda", random_state=0),
    ):
        plain = model.fit(X, y).predict_proba(X)
        sharded = fit_shard(model, X[rank::size], y[rank::size]).predict_proba(X)
        if rank == 0:
            print(f"{type(model).__name__}: {np.abs(sharded - plain).max():.1e}")
    dist.destroy_process_group()


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
