"""``stablepred fit``: train a model on a table as it comes."""

import math
import shlex
from contextlib import suppress
from pathlib import Path
from typing import Any

from stablepred.cli import options
from stablepred.cli.screen import say, show_table, warnings_as_lines, working

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
    cv: int = 3,
    skip_missing_target: bool = False,
    seed: int = 0,
    force: bool = False,
) -> None:
    """Train a model on one table, for use in other environments as well.

    Columns are taken as they come: numbers stay numbers, strings become one 0/1 feature per value,
    many missing values get a feature of their own. The encoding is stored with the model. With --by
    the environments of the training table are held out in turn, and their column is not used as a
    feature. With --set checkpoint=FILE a long fit of gbr, dgbr or dlr goes on where it was stopped.

    Example: stablepred fit train.csv --target bought --drop customer_id -o model
    """
    from stablepred import StableRegressor
    from stablepred.cli import tables
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
    estimator = tables.make_estimator(method, seed)
    tables.set_parameters(estimator, settings or [])
    file = tables.open_input(table)
    columns, dropped = tables.select_columns(file, drop, target)
    if by in dropped:
        raise options.UsageError(f"{by!r} was dropped; --by needs it, and uses it as no feature.")
    frame = tables.read(file, columns)
    if method == "stable":
        known = frame[target][~is_missing(frame[target])]  # others: see encode_table
        if isinstance(learn_target(known, positive), NumberTarget):
            estimator = StableRegressor(**estimator.get_params(deep=False))
    with warnings_as_lines(), working("encoding columns"):
        encoded = encode_table(frame, target, estimator, (), positive, skip_missing_target, by)
    say(f"read {table}: {len(encoded.y):,} rows, {len(file.columns)} columns ({file.format})")
    if dropped:
        say(f"left out as asked: {', '.join(dropped)}")
    _describe_columns(encoded)
    with warnings_as_lines(estimator), working(f"fitting {method}"):
        model = encoded.fit(estimator)
        model.save(output, force=force)  # before anything more is printed
    _describe_model(model)
    if cv > 1 and model.references is not None:
        with working("fitting again on each fold"):
            say(_compare_held_out(encoded, model, cv))
    say(f"written: {output} (model.safetensors)")


def _describe_columns(encoded: Any) -> None:
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
    for line in encoded.encoder.notes_:
        say(line)
    names, used = encoded.encoder.get_feature_names_out(), encoded.encoder.used_columns
    say(f"{len(names)} features from {len(used)} columns")


def _compare_held_out(encoded: Any, model: Any, cv: int) -> str:
    from stablepred.evaluation.references import cross_validate

    k, own = model.references.n_classes, math.nan
    with suppress(ValueError):  # of a fold with few rows; the fit on all of them went well
        own = cross_validate(model.estimator, encoded.features, encoded.y, n_classes=k, cv=cv)
    if math.isnan(own):
        return "no comparison on held-out rows: there are too few rows for it"
    name, linear = type(model.estimator).__name__, "logistic regression"
    if name == "LogisticRegression":
        name, linear = f"{name} (C = {model.estimator.C:g})", f"{linear} with a chosen penalty"
    beside = model.references.errors["rmse"].rename({"LR": linear})
    others = ", ".join(f"{name} {error:.4f}" for name, error in beside[::-1].items())
    return f"RMSE on held-out rows of this table: {name} {own:.4f}, {others}"


def _describe_model(model: Any) -> None:
    from stablepred.evaluation.diagnostics import model_facts
    from stablepred.tables.messages import listed

    facts = model_facts(model)
    if facts.balance is not None:
        share = facts.balance.effective_share
        say(f"effective sample size: {share * model.rows:,.0f} rows ({share:.1%})")
    if facts.effects is not None:
        show_effects(facts.effects, balanced=facts.name != "DLRClassifier")
        if facts.decision is None:
            say("verdict of the paper's methods: stable if the interval excludes zero, else noisy")
    if facts.decision is not None:
        say(f"variables in use: {facts.decision.chosen}. {facts.decision.reason}")
    used = getattr(model.estimator, "used_features_", None)
    if used is not None:
        names = [name for name, is_used in zip(model.feature_names, used, strict=True) if is_used]
        few = f"{len(names)} of the {len(used)} features: {listed(names, SHOWN)}"
        say(f"the model uses {f'all {len(used)} features' if used.all() else few}")


def show_effects(effects: Any, *, balanced: bool = True) -> None:
    top = effects.sort_values("effect", key=abs, ascending=False, kind="stable").head(SHOWN)
    rows = [[r["feature"], *EFFECT.format(**r).split("|"), r["verdict"]] for _, r in top.iterrows()]
    how = "with the other features balanced" if balanced else "with nothing balanced"
    title = f"Effect on the target {how}, {len(top)} largest of {len(effects)}"
    show_table(title, ["feature", "effect", "95% interval", "verdict"], rows)
