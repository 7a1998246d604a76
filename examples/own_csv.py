"""Your own CSV file, as a script
==============================

Your own table, from a CSV file to a verdict.

Run: python examples/own_csv.py [your.csv outcome_column environment_column]
Without arguments it makes a table of customers first.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

import stablepred
from stablepred import StableClassifier, stability_report
from stablepred.data import fit_table, read_table


def make_csv(path: Path, rows: int, seed: int = 0) -> None:
    """Customers of two regions; only in the north an offer goes to those who would buy anyway."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 80, rows)
    member = rng.random(rows) < 0.4
    buys = (age > 45) + 0.8 * member + rng.normal(0, 0.5, rows) > 0.9
    region = np.where(rng.random(rows) < 0.8, "north", "south")
    offer = np.where(region == "north", buys ^ (rng.random(rows) < 0.15), rng.random(rows) < 0.5)
    table = {"age": age, "member": member, "offer": offer, "region": region, "buys": buys}
    pd.DataFrame(table).to_csv(path, index=False)


def main(path: Path, target: str, by: str) -> None:
    """Train in the first environment of a column, then judge the model in all of them."""
    table = read_table(path)
    first = table[by].value_counts().index[0]
    train = table[table[by] == first]

    estimator = StableClassifier(LogisticRegression(), random_state=0)
    model = fit_table(train, target, estimator, drop=[by])
    print(f"trained on {by} = {first}, {model.rows} rows")
    print(model.estimator.variables_.round(3).to_string(index=False))
    print(model.estimator.decision_)

    environments = [model.environment(name, rows) for name, rows in table.groupby(by)]
    print(stability_report(model.estimator, environments))

    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model")  # what 'stablepred fit' writes
        again = stablepred.load(Path(folder) / "model")
        print("the first three rows:", *again.predict(table.head(3)))


if __name__ == "__main__":
    if len(sys.argv) == 4:
        main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
    else:
        with tempfile.TemporaryDirectory() as folder:
            make_csv(Path(folder) / "customers.csv", rows=4000)
            main(Path(folder) / "customers.csv", "buys", "region")
