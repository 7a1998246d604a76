"""``stablepred stress``: which features a model must be able to trust."""

from pathlib import Path
from typing import Annotated, Any

from stablepred.cli import options
from stablepred.cli.guard import plain_errors, warnings_as_lines
from stablepred.cli.output import check_file, new_file
from stablepred.cli.screen import say, show_table, working

SHOWN = 15  # features in the printed table


def stress(
    model: options.Model,
    table: options.Table,
    target: options.Target = None,
    output: Annotated[Path | None, options.CSV] = None,
    seed: options.Seed = 0,
    force: options.Force = False,
    debug: options.Debug = False,
) -> None:
    """Find what breaks a model: make each feature in turn agree or disagree with the outcome.

    Rows are resampled so that a feature equals the outcome in a share of .1, .2 ... .9 of them.
    The features with the largest error at any share come first.

    Example: stablepred stress model train.csv
    """
    with plain_errors(debug, output):
        from stablepred.cli.tables import labelled, load_model
        from stablepred.evaluation.reports import stress_test
        from stablepred.tables.encoder import note_lines

        check_file(output, force=force)
        fitted = load_model(model)
        rows = labelled(fitted, table, target)
        for line in note_lines(rows.surprises):
            say(line)
        with warnings_as_lines(), working("resampling rows for each feature"):
            probability = fitted.estimator.predict_proba(rows.features)[:, 1]
            report = stress_test(probability, rows.features, rows.y, random_state=seed)
        if output is not None:
            with new_file(output, force=force) as temporary:
                report.to_frame().to_csv(temporary)
        _show(report)
        if output is not None:
            say(f"written: {output}")


def _show(report: Any) -> None:
    errors = report.errors
    say(f"RMSE as the rows are: {report.observed:.4f}")
    show_table(
        f"RMSE when one feature comes to follow the outcome or to oppose it, "
        f"{min(SHOWN, len(errors))} most dangerous of {len(errors)}",
        ["feature", "agrees", "worst", "95% interval", "share", "spread"],
        [_cells(str(name), row) for name, row in errors.head(SHOWN).iterrows()],
    )
    for name, reason in report.skipped.items():
        say(f"not tested: {name} ({reason})")


def _cells(name: str, row: Any) -> list[str]:
    return [
        name,
        f"{row['agreement']:.2f}",
        f"{row['worst']:.3f}",
        f"{row['low']:.3f} to {row['high']:.3f}",
        f"{row['worst_rate']:g}",
        f"{row['stability']:.3f}",
    ]
