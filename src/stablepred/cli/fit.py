"""``stablepred fit``: train a model on a table as it comes."""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from stablepred.cli import options
from stablepred.cli.screen import describe, say, show_table, warnings_as_lines, working

SHOWN = 15  # features in the printed table
EFFECT = "{effect:+.3f}|{low:+.3f} to {high:+.3f}"


def fit(
    table: Path,
    target: str,
    output: Path,
    method: options.Method = "stable",
    settings: list[str] | None = None,
    drop: list[str] | None = None,
    by: str | None = None,
    positive: str | None = None,
    overlap: float | None = None,
    cv: int = 3,
    skip_missing_target: bool = False,
    seed: int = 0,
    resume: bool = False,
    force: bool = False,
) -> None:
    """Train a model on one table, for use in other environments as well.

    Columns are taken as they come: numbers stay numbers, strings become one 0/1 feature per value,
    many missing values get a feature of their own. The encoding is stored with the model. With --by
    the environments of the training table are held out in turn, and their column is not used as a
    feature. A long fit of gbr, dgbr or dlr keeps a checkpoint next to the output for --resume.

    Example: stablepred fit train.csv --target bought --drop customer_id -o model
    """
    from stablepred import StableRegressor
    from stablepred.cli.estimators import make_estimator, parameter_options, set_parameters
    from stablepred.cli.tables import open_input, read, select_columns
    from stablepred.io.checkpoint import KeptFile
    from stablepred.tables.table_model import check_model_folder, encode_table
    from stablepred.tables.target import NumberTarget, is_missing, learn_target

    if by is not None and method != "stable":
        raise options.UsageError(
            f"--method {method} learns from one environment; --by is for stable. Leave the column "
            f"out with --drop {shlex.quote(by)}, or use --method stable."
        )
    if output == options.STANDARD:
        raise options.UsageError("a model is a folder, not standard output: name one.")
    check_model_folder(output, force=force)
    estimator = make_estimator(method, seed)
    set_parameters(estimator, settings or [])
    checkpoint = output.resolve().with_name(f"{output.resolve().name}.checkpoint")
    if "checkpoint" in estimator.get_params(deep=False):
        estimator.set_params(checkpoint=KeptFile(checkpoint))
    elif resume:
        raise options.UsageError(
            f"--method {method} keeps no checkpoint to --resume; gbr, dgbr and dlr do."
        )
    with _resumable(checkpoint, resume=resume, force=force):
        file = open_input(table)
        columns, dropped = select_columns(file, drop, target)
        frame = read(file, columns)
        if method == "stable":
            known = frame[target][~is_missing(frame[target])]  # others: see encode_table
            if isinstance(learn_target(known, positive), NumberTarget):
                estimator = StableRegressor(**estimator.get_params(deep=False))
        with warnings_as_lines(), working("encoding columns"):
            encoded = encode_table(
                frame, target, estimator, (), positive, overlap, skip_missing_target, by
            )
        rows = f"{len(encoded.y):,} rows"
        say(f"read {table}: {rows}, {len(file.columns)} columns ({file.format})")
        _describe_columns(encoded, file.columns, dropped)
        words = parameter_options(estimator, "gbr", "dgbr")
        with warnings_as_lines(words), working(f"fitting {method}"):
            model = encoded.fit(estimator)
            model.save(output, force=force)  # before anything more is printed
    _describe_model(model)
    with working("fitting again on each fold"):
        _compare_held_out(encoded, model, cv)
    say(f"written: {output} (model.safetensors, summary.json)")


@contextmanager
def _resumable(checkpoint: Path, *, resume: bool, force: bool) -> Iterator[None]:
    """Keep a checkpoint until the block is done; where it ends early, say how to go on.

    One that is there is gone on from, discarded, or a reason to ask which.
    """
    from stablepred.io.checkpoint import read_checkpoint, remove_checkpoint

    found = checkpoint.exists()
    if resume:
        say(f"going on from {checkpoint}" if found else "no unfinished fit: starting again")
    elif found:
        read_checkpoint(checkpoint)  # what is no checkpoint is not discarded
        if not force:
            raise options.UsageError(
                f"there is an unfinished fit in {checkpoint}. Go on from it with --resume, or "
                "discard it with --force."
            )
        remove_checkpoint(checkpoint)
        say("the unfinished fit was discarded")
    try:
        yield
    except (KeyboardInterrupt, OSError) as error:
        if not checkpoint.exists():
            raise
        raise options.UsageError(
            f"{describe(error)} What was done so far is in {checkpoint}; run it again with "
            "--resume to go on."
        ) from None
    remove_checkpoint(checkpoint)


def _describe_columns(encoded: Any, columns: list[str], dropped: list[str]) -> None:
    """Print what became of the columns."""
    if dropped:
        say(f"left out as asked: {', '.join(dropped)}")
    outcome, share = encoded.target, f"{encoded.base_rate:.1%} of the rows"
    if hasattr(outcome, "positive"):
        what = f"{outcome.positive!r} is 1 ({share}), {outcome.negative!r} is 0"
    elif hasattr(outcome, "values"):
        what = f"taken as {len(outcome.values)} classes ({share} are of the largest): "
        what += ", ".join(outcome.values)
    else:
        y = encoded.y
        what = f"taken as a number, from {y.min():g} to {y.max():g} with mean {y.mean():g}"
    say(f"target {outcome.name}: {what}")
    like = [n for n in columns if n.lower() == outcome.name.lower() and n != outcome.name]
    if like:
        say(f"named like the target, drop it if it is the same thing: {', '.join(like)}")
    for line in encoded.encoder.notes_:
        say(line)
    names, used = encoded.encoder.get_feature_names_out(), encoded.encoder.used_columns
    say(f"{len(names)} features from {len(used)} columns")


def _compare_held_out(encoded: Any, model: Any, cv: int) -> None:
    """Print the cross-validated errors of the model and of its references."""
    from stablepred.evaluation.references import cross_validate

    if model.references is None or cv < 2:
        return
    k = model.references.n_classes
    own = cross_validate(model.estimator, encoded.features, encoded.y, n_classes=k, cv=cv)
    if own != own:  # too few rows of one class
        return
    beside = model.references.errors["rmse"].rename({"LR": "logistic regression"})
    others = ", ".join(f"{name} {error:.4f}" for name, error in beside[::-1].items())
    name = type(model.estimator).__name__
    say(f"RMSE on held-out rows of this table: {name} {own:.4f}, {others}")


def _describe_model(model: Any) -> None:
    """Print what was found."""
    import numpy as np

    from stablepred.evaluation.facts import model_facts

    facts = model_facts(model)
    if facts.balance is not None:
        share = facts.balance.effective_share
        say(f"effective sample size: {share * model.rows:,.0f} rows ({share:.1%})")
    if facts.effects is not None:
        show_effects(facts.effects)
    if facts.decision is not None:
        say(f"variables in use: {facts.decision.chosen}. {facts.decision.reason}")
    if hasattr(model.estimator, "used_features_"):
        _describe_use(np.array(model.feature_names), model.estimator.used_features_)


def _describe_use(names: Any, used: Any) -> None:
    """Print how many features the model uses, and the names of the fewer part."""
    from stablepred.tables.messages import listed

    if used.all():
        say(f"the model uses all {len(used)} features")
        return
    few, verb = (used, "uses") if 2 * used.sum() <= len(used) else (~used, "does not use")
    named = listed(list(names[few]), SHOWN)
    say(f"the model uses {used.sum()} of the {len(used)} features; it {verb} {named}")


def show_effects(effects: Any) -> None:
    """Print the largest effects, with their intervals and verdicts."""
    top = effects.sort_values("effect", key=abs, ascending=False, kind="stable").head(SHOWN)
    rows = [[r["feature"], *EFFECT.format(**r).split("|"), r["verdict"]] for _, r in top.iterrows()]
    title = f"Effect on the target with the other features balanced, {len(top)} largest of "
    show_table(f"{title}{len(effects)}", ["feature", "effect", "95% interval", "verdict"], rows)
