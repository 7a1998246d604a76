"""All variables, without the noisy, or the stable alone: by expected error under both readings.

If the verdict is wrong, a model has its held-out error of the training environment. If it is
right, the noisy variables will change, and the model has its error where they are redrawn: as they
are, from any row, from a row with the other outcome. The candidate with the smallest expected
error is taken.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from studies.natural.draft.choice import Fitted, Folds, fit_base, fit_default
from studies.natural.draft.data import BoolArray, FloatArray, TrainingData
from studies.natural.draft.verdict import Verdict

LEAST_PATTERN = 0.9  # below this the other candidates are not even fitted
MOST_RECLAIMED = 3
ALL_SAID = 0.95  # share of the lost log-loss that must come back
LARGER = 2.0  # standard errors

ALL, WITHOUT_NOISY, STABLE_ALONE = "all variables", "without the noisy", "stable alone"
SUFFICIENT = "sufficient"


@dataclass(frozen=True, eq=False)
class Decision:
    """Which variables are used, and why.

    Attributes
    ----------
    candidates : DataFrame
        candidate, variables, error, error_redrawn, expected.
    chosen : str
    reason : str
        One sentence.
    """

    candidates: pd.DataFrame
    chosen: str
    reason: str

    def __str__(self) -> str:
        table = self.candidates.to_string(index=False, float_format="%.3f")
        return f"{table}\nchosen: {self.chosen}. {self.reason}"


@dataclass(frozen=True, eq=False)
class Choice:
    """The decision, the model that follows from it, and the variables that it uses."""

    decision: Decision
    fitted: Fitted
    used: BoolArray


def keep_all(data: TrainingData, folds: Folds, reason: str, whole: Fitted | None = None) -> Choice:
    """Leave nothing out."""
    whole = fit_default(data, folds) if whole is None else whole
    row = {
        "candidate": ALL,
        "variables": data.n_variables,
        "error": data.rmse(whole.held_out),
        "error_redrawn": np.nan,
        "expected": np.nan,
    }
    decision = Decision(pd.DataFrame([row]), ALL, reason)
    return Choice(decision, whole, np.ones(data.n_variables, dtype=bool))


def decide(data: TrainingData, folds: Folds, verdict: Verdict, seed: int) -> Choice:
    """Fit the candidates that the verdict gives reason for, and take the best."""
    whole = fit_default(data, folds)
    reason = _reason_to_keep_all(data, verdict, whole)
    if reason:
        return keep_all(data, folds, reason, whole)
    everything = np.ones(data.n_variables, dtype=bool)
    reclaimed = _find_sufficient(data, folds, verdict, whole)
    if reclaimed is None:
        masks = {ALL: everything, WITHOUT_NOISY: ~verdict.noisy, STABLE_ALONE: verdict.stable}
    else:
        masks = {SUFFICIENT: reclaimed, ALL: everything}
    distinct: dict[bytes, str] = {}
    for name, mask in masks.items():
        distinct.setdefault(mask.tobytes(), name)
    fits = {
        name: whole if masks[name].all() else fit_default(data.select(masks[name]), folds)
        for name in distinct.values()
    }
    table = _compare(data, folds, verdict, {name: masks[name] for name in fits}, fits, seed)
    best = _best(data, table)
    return Choice(Decision(table, best, _explain(table, best, verdict)), fits[best], masks[best])


def _reason_to_keep_all(data: TrainingData, verdict: Verdict, whole: Fitted) -> str:
    """Why nothing is left out; empty where other candidates are worth a fit."""
    if verdict.probability_pattern < LEAST_PATTERN:
        return (
            "The variables do not depend on each other as selection would make them (probability "
            f"{verdict.probability_pattern:.2f})."
        )
    if not verdict.stable.any():
        return "No variable is clearly stable, so there would be nothing to rely on."
    gain = (data.y - data.rate) ** 2 - (data.y - whole.held_out) ** 2
    if data.mean(gain) < LARGER * data.standard_error(gain):
        return "All variables together say nothing about the outcome that held-out rows confirm."
    return ""


def _compare(
    data: TrainingData,
    folds: Folds,
    verdict: Verdict,
    masks: dict[str, BoolArray],
    fits: dict[str, Fitted],
    seed: int,
) -> pd.DataFrame:
    """Every candidate's error as it is, where the suspects are redrawn, and expected."""
    suspects = (verdict.leaning_noisy > 0.5) & ~verdict.stable
    changed = _redraw(data, suspects[data.groups], seed)
    pi = verdict.probability_pattern
    rows = []
    for name, fitted in fits.items():
        columns = masks[name][data.groups]
        error = data.rmse(fitted.held_out)
        again = [data.rmse(fitted.predict_held_out(x[:, columns], folds)) for x in changed]
        redrawn = error if name == SUFFICIENT else float(np.mean([error, *again]))
        expected = (1 - pi) * error + pi * redrawn
        rows.append((name, int(masks[name].sum()), error, redrawn, expected))
    names = ["candidate", "variables", "error", "error_redrawn", "expected"]
    return pd.DataFrame(rows, columns=names)


def _best(data: TrainingData, table: pd.DataFrame) -> str:
    """The candidate of least expected error, of those that are better than a constant."""
    usable = table[(table["error"] < data.rmse(data.rate)) | (table["candidate"] == ALL)]
    return str(usable.set_index("candidate")["expected"].idxmin())


def _explain(table: pd.DataFrame, best: str, verdict: Verdict) -> str:
    if best == SUFFICIENT:
        return "The stable variables and a few more say all that all variables say."
    expected = table.set_index("candidate")["expected"]
    return (
        f"Lowest expected error ({expected[best]:.3f}; all variables {expected[ALL]:.3f}) with "
        f"probability {verdict.probability_pattern:.2f} that noisy variables will change."
    )


def _find_sufficient(
    data: TrainingData, folds: Folds, verdict: Verdict, whole: Fitted
) -> BoolArray | None:
    """The stable variables and at most three more that say what all say, if there are any.

    Under selection on the outcome every selected variable adds to what the causes say. Where a few
    bring back all that was lost, the outcome does not depend on the rest given them, and it is the
    verdict on those few that was wrong. Two noisy variables must stay out for each.
    """
    chosen = verdict.stable.copy()
    fitted = fit_base(data.select(chosen), folds)
    loss = data.log_loss(whole.held_out)
    lost = data.log_loss(fitted.held_out) - loss
    gain = data.row_losses(fitted.held_out) - data.row_losses(whole.held_out)
    if not data.exceeds(gain, LARGER):
        return None
    for _ in range(MOST_RECLAIMED):
        if chosen.all():
            return None
        chosen[_most_missed(data, chosen, fitted.held_out)] = True
        if (verdict.noisy & ~chosen).sum() < 2 * (chosen & ~verdict.stable).sum():
            return None
        fitted = fit_base(data.select(chosen), folds)
        if data.log_loss(fitted.held_out) - loss < (1 - ALL_SAID) * lost:
            return chosen
    return None


def _most_missed(data: TrainingData, chosen: BoolArray, p: FloatArray) -> int:
    """The variable outside that goes most with the residuals, alone or times one inside."""
    inside = chosen[data.groups]
    outside = np.flatnonzero(~inside)
    centred = data.x - np.average(data.x, axis=0, weights=data.w)
    partners = np.column_stack([np.ones(len(data)), centred[:, inside]])
    own = centred[:, outside]
    score = own.T @ (partners * (data.w * (data.y - p))[:, None])
    variance = (data.w * (p * (1 - p) + 1e-4))[:, None]
    spread = np.sqrt((own**2).T @ (partners**2 * variance))
    return int(data.groups[outside[np.argmax(np.abs(score / spread).max(axis=1))]])


def _redraw(data: TrainingData, columns: BoolArray, seed: int) -> list[FloatArray]:
    """The rows with some columns taken from any row, and from one of the other outcome."""
    rng = np.random.default_rng(seed)
    x, y = data.x, data.y
    anyone, opposite = x.copy(), x.copy()
    anyone[:, columns] = x[rng.permutation(len(x))][:, columns]
    for value in (0, 1):
        rows, others = np.flatnonzero(y == value), np.flatnonzero(y != value)
        opposite[np.ix_(rows, columns)] = x[rng.choice(others, len(rows))][:, columns]
    return [anyone, opposite]
