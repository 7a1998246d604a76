"""Tables that stay where they are: Parquet by DuckDB
==================================================

The paper's estimators need only the distinct rows of a table and how often each occurs. With
``fit_table``, DuckDB counts them where the table is stored, so that it never has to fit in memory.
(It takes the extra ``tables``: ``pip install 'stablepred[tables]'``.)
"""

# %%
# Three files
# -----------
# 600,000 rows in three Parquet files, drawn from a world of eight 0/1 variables.
import tempfile
import time
from pathlib import Path

import duckdb

from stablepred import GBRClassifier
from stablepred.data import SyntheticWorld, count_patterns
from stablepred.plotting import WeightsDisplay

world = SyntheticWorld("s_indep_v", 8)
folder = Path(tempfile.mkdtemp())
for k in range(3):
    part = world.sample(200_000, bias_rate=0.75, random_state=k)
    part.X.assign(bought=part.y).to_parquet(folder / f"rows-{k}.parquet")
rows = duckdb.read_parquet(str(folder / "rows-*.parquet"))

counted = count_patterns(rows, "bought")
print(f"{counted.count.sum():,.0f} rows, {len(counted.X)} of them distinct")

# %%
# The same model, from the counts
# -------------------------------
# The model is the one that ``fit`` gives on all rows.
started = time.perf_counter()
model = GBRClassifier(random_state=0).fit_table(rows, "bought")
print(f"counted and fitted in {time.perf_counter() - started:.1f} s")
print(model.feature_effects_.round(3).to_string(index=False))

# %%
# ``sample_weight_`` has one weight per distinct row, and ``row_count_`` says how many rows each
# stands for. The histogram counts them.
WeightsDisplay.from_estimator(model)

# %%
# What was balanced, and how many rows are left effectively:
print(model.balance_report_)
