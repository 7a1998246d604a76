"""One fit by several processes
============================

One fit by several processes, each with its own rows.

Run: torchrun --nproc-per-node 2 examples/shards.py
"""

import numpy as np
import torch.distributed as dist

from stablepred import GBRClassifier
from stablepred.data import SyntheticWorld
from stablepred.distributed import fit_shard


def main(rows: int = 4000) -> None:
    """Each process takes its own rows; here from one table, elsewhere from files of its own."""
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    train = SyntheticWorld("s_indep_v").sample(rows, bias_rate=0.75, random_state=0)
    mine = np.arange(rows) % size == rank

    model = GBRClassifier(random_state=0)
    fit_shard(model, train.X[mine], train.y[mine])

    print(f"rank {rank}: the weights of {len(model.sample_weight_)} of {rows} rows")
    if rank == 0:
        print(model.feature_effects_.round(3).to_string(index=False))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
