"""Arrow and narwhals, which come with the extra ``tables``."""

from typing import Any

from stablepred._extras import Lazy

NEED = "reading text columns and table files"
pa: Any = Lazy("pyarrow", NEED)
pc: Any = Lazy("pyarrow.compute", NEED)
arrow_csv: Any = Lazy("pyarrow.csv", NEED)
parquet: Any = Lazy("pyarrow.parquet", NEED)
nw: Any = Lazy("narwhals", "counting the rows of a table")
