"""``stablepred predict``: probabilities for the rows of a table, however many."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from stablepred.cli.guard import plain_errors, warnings_as_lines
from stablepred.cli.options import DebugOption, ForceOption, ModelArgument, TableArgument
from stablepred.cli.output import check_file, new_file
from stablepred.cli.screen import progress, say
from stablepred.cli.tables import load_model, say_ignored
from stablepred.exceptions import InputError
from stablepred.tables.columns import Surprise
from stablepred.tables.encoder import surprise_lines
from stablepred.tables.files import TableFile, open_table
from stablepred.tables.table_model import TableModel


def predict(
    model: ModelArgument,
    table: TableArgument,
    output: Annotated[Path, typer.Option("--output", "-o", help="CSV file to write.")] = Path(
        "predictions.csv"
    ),
    force: ForceOption = False,
    debug: DebugOption = False,
) -> None:
    """Predict for new rows: one line per row, in order, with 'probability' and 'prediction'.

    Rows are read and written in pieces, so that the table need not fit into memory.
    """
    with plain_errors(debug):
        check_file(output, force=force)
        fitted = load_model(model)
        file = open_table(table)
        fitted.encoder.check_has_columns(file.columns)
        say_ignored(fitted, file)
        surprises: list[Surprise] = []
        rows = 0
        with warnings_as_lines(), new_file(output, force=force) as temporary:
            for piece in _predicted(fitted, file, surprises):
                piece.to_csv(temporary, index=False, header=rows == 0, mode="a")
                rows += len(piece)
            if not rows:
                raise InputError(f"{table} has a header but no rows.")
        for line in surprise_lines(surprises):
            say(line)
        say(
            f"written: {output} ({rows:,} rows: probability of {fitted.target.positive!r}, "
            "prediction)"
        )


def _predicted(
    model: TableModel, file: TableFile, surprises: list[Surprise]
) -> Iterator[pd.DataFrame]:
    with progress(f"predicting {file.path.name}") as report:
        for frame in file.pieces(model.encoder.used_columns, report):
            if not len(frame):
                continue
            features, unexpected = model.encoder.encode(frame)
            surprises += unexpected
            probability = model.estimator.predict_proba(features)[:, 1]
            prediction = model.target.decode(probability > 0.5)
            yield pd.DataFrame({"probability": probability, "prediction": prediction})
