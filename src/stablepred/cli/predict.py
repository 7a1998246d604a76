"""``stablepred predict``: probabilities for the rows of a table, however many."""

from pathlib import Path
from typing import Any

from stablepred.cli import options
from stablepred.cli.guard import warnings_as_lines
from stablepred.cli.screen import progress, say


def predict(
    model: options.Model,
    table: options.Table,
    output: options.CSV = Path("predictions.csv"),
    force: options.Force = False,
) -> None:
    """Predict for new rows: one line per row, in order, with 'probability' and 'prediction'.

    Rows are read and written in pieces, so that the table need not fit into memory.

    Example: stablepred predict model new.csv -o predictions.csv
    """
    import pandas as pd

    from stablepred.cli.tables import check_file, load_model, new_file, opened, say_ignored
    from stablepred.tables.encoder import note_lines

    check_file(output, force=force)
    fitted = load_model(model)
    surprises: list[Any] = []
    rows = 0
    with opened(table) as file, progress(f"predicting {table.name}") as report:
        fitted.encoder.check_has_columns(file.columns)
        say_ignored(fitted, file)
        with warnings_as_lines(), new_file(output, force=force) as temporary:
            for frame in file.pieces(fitted.encoder.used_columns, report):
                features, unexpected = fitted.encoder.encode(frame)
                probability = fitted.estimator.predict_proba(features)[:, 1]
                prediction = fitted.target.decode(probability > 0.5)
                found = pd.DataFrame({"probability": probability, "prediction": prediction})
                found.to_csv(temporary, index=False, header=rows == 0, mode="a")
                surprises += unexpected
                rows += len(frame)
            if not rows:
                raise options.UsageError(f"{table} has a header but no rows.")
    for line in note_lines(surprises):
        say(line)
    outcome = fitted.target.positive
    say(f"written: {output} ({rows:,} rows: probability of {outcome!r}, prediction)")
