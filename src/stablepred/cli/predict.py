"""``stablepred predict``: probabilities for the rows of a table, however many."""

from pathlib import Path
from typing import Annotated, Any

from stablepred.cli import options
from stablepred.cli.guard import plain_errors, warnings_as_lines
from stablepred.cli.output import check_file, new_file
from stablepred.cli.screen import progress, say


def predict(
    model: options.Model,
    table: options.Table,
    output: Annotated[Path, options.CSV] = Path("predictions.csv"),
    force: options.Force = False,
    debug: options.Debug = False,
) -> None:
    """Predict for new rows: one line per row, in order, with 'probability' and 'prediction'.

    Rows are read and written in pieces, so that the table need not fit into memory.

    Example: stablepred predict model new.csv -o predictions.csv
    """
    with plain_errors(debug, output):
        from stablepred.cli.tables import load_model, opened, say_ignored
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
                    predicted, unexpected = _predict(fitted, frame)
                    predicted.to_csv(temporary, index=False, header=rows == 0, mode="a")
                    surprises += unexpected
                    rows += len(frame)
                if not rows:
                    raise options.UsageError(f"{table} has a header but no rows.")
        for line in note_lines(surprises):
            say(line)
        say(
            f"written: {output} ({rows:,} rows: probability of {fitted.target.positive!r}, "
            "prediction)"
        )


def _predict(model: Any, frame: Any) -> tuple[Any, list[Any]]:
    """Probabilities and predictions of some rows, and what was not expected in them."""
    import pandas as pd

    features, surprises = model.encoder.encode(frame)
    probability = model.estimator.predict_proba(features)[:, 1]
    prediction = model.target.decode(probability > 0.5)
    return pd.DataFrame({"probability": probability, "prediction": prediction}), surprises
