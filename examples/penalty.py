"""How strong should the network's penalty be? By rows and features.

DGBR trains its last network on the features found stable, with ``network_l2`` times 100 p / n: the
more features there are for each row, the stronger the penalty. Printed are Average_Errors with a
quarter of the default ``network_l2`` to four times as much, beside those of GBR and the oracle.
(The first network's penalty changes too, but little depends on it here.)

Run: python examples/penalty.py
"""

import sys
import warnings

import numpy as np

from stablepred import DGBRClassifier, GBRClassifier, average_error, environment_errors
from stablepred.data import SyntheticWorld
from stablepred.evaluation.references import Oracle

SIZES = [(250, 20), (500, 20), (1000, 20), (2000, 20), (4000, 20), (4000, 40), (4000, 80)]
FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)
USUAL = 3e-4


def main(seeds: range = range(2), test_rows: int = 3000) -> None:
    """Print a line for each size; S and V independent, selection on the outcome at r = .75."""
    titles = ["oracle", "GBR", *(f"x {factor:g}" for factor in FACTORS)]
    print("   n   p  100 p / n" + "".join(title.rjust(8) for title in titles))
    for n, p in SIZES:
        errors = np.mean([_errors(n, p, seed, test_rows) for seed in seeds], axis=0)
        numbers = "".join(f"{error:8.3f}" for error in errors)
        print(f"{n:4}  {p:2}  {100 * p / n:9.2f}{numbers}", flush=True)


def _errors(n: int, p: int, seed: int, test_rows: int) -> list[float]:
    world = SyntheticWorld("s_indep_v", p)
    train = world.sample(n, bias_rate=0.75, random_state=seed)
    tests = [
        world.sample(test_rows, bias_rate=rate / 10, random_state=1000 * (seed + 1) + rate)
        for rate in range(1, 10)
    ]
    models = [Oracle(train, world.stable_features), GBRClassifier(random_state=seed)]
    models += [DGBRClassifier(network_l2=f * USUAL, random_state=seed) for f in FACTORS]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for model in models[1:]:
            model.fit(train.X, train.y)
    return [average_error(environment_errors(model, tests)) for model in models]


if __name__ == "__main__":
    main(range(int(sys.argv[1]) if len(sys.argv) > 1 else 2))
