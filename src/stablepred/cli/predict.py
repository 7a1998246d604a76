"""``stablepred predict``: probabilities for the rows of a table, however many."""

from pathlib import Path
from typing import Any

from stablepred.cli import options
from stablepred.cli.screen import say, warnings_as_lines, working


def predict(
    model: Path, table: Path, output: Path = Path("predictions.csv"), force: bool = False
) -> None:
    """Predict for new rows: one line per row, in order, with 'probability' and 'prediction'.

    Of several classes each has a column; a numeric outcome has only its prediction. Rows are read
    and written in pieces, so that the table need not fit into memory.

    Example: stablepred predict model new.csv -o predictions.csv
    """
    import pandas as pd

    from stablepred.cli.tables import check_file, load_model, new_file, open_rows
    from stablepred.tables.messages import note_lines

    check_file(output, force=force)
    fitted = load_model(model)
    positive = getattr(fitted.target, "positive", None)
    surprises: list[Any] = []
    rows, what = 0, "" if positive is None else f"probability of {positive!r}, "
    file = open_rows(fitted, table)
    spinner = working(f"predicting {table.name}")
    with spinner, warnings_as_lines(), new_file(output) as temporary:
        for frame in file.pieces(fitted.encoder.used_columns):
            features, unexpected = fitted.features(frame)
            expected = fitted.expected(features)
            found = pd.DataFrame({} if positive is None else {"probability": expected})
            if expected.ndim == 2:
                names = [f"probability of {label}" for label in fitted.estimator.classes_]
                found, what = pd.DataFrame(expected, columns=names), "probability of each class, "
            found["prediction"] = fitted.decide(expected)
            found.to_csv(temporary, index=False, header=rows == 0, mode="a")
            surprises += unexpected
            rows += len(frame)
        if not rows:
            raise options.UsageError(f"{table} has a header but no rows.")
    for line in note_lines(surprises):
        say(line)
    say(f"written: {output} ({rows:,} rows: {what}prediction)")
