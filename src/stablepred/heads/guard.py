"""All variables, without the noisy, or the stable alone: by expected error under both readings.

If the verdict is wrong, a model has its held-out error of the training environment. If it is
right, the noisy variables will change, and the model has its error where they are redrawn: as they
are, from any row, from a row with another outcome. With t the probability that the verdict is
right, the candidate with the smallest

    (1 - t) * error + t * error_redrawn

is taken, of those that keep a third of what all variables say about the outcome:

    constant^2 - error^2 >= (constant^2 - error_of_all^2) / 3
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from stablepred._random import numpy_generator
from stablepred.evidence.verdict import Verdict
from stablepred.heads.default import Fitted, add_boosting, fit_base
from stablepred.heads.folds import Folds
from stablepred.io.save import storable
from stablepred.sample import BoolArray, Sample

LEAST_TRUST = 0.9  # below this the other candidates are not even fitted
LEAST_KEPT = 1 / 3  # of what all variables say; a verdict that gives up more is not believed
MOST_RECLAIMED = 3
ALL_SAID = 0.95  # share of the lost loss that must come back
LARGER = 2.0  # standard errors

ALL, WITHOUT_NOISY, STABLE_ALONE = "all variables", "without the noisy", "stable alone"
SUFFICIENT = "sufficient"
COLUMNS = ["candidate", "n_variables", "error", "error_redrawn", "expected"]

Fit = Callable[[Sample, Folds], Fitted]


@storable
@dataclass(frozen=True, eq=False)
class Decision:
    """Which variables are used, and why; prints as a table.

    Attributes
    ----------
    candidates : DataFrame
        Columns ``candidate``, ``n_variables``, ``error`` (root-mean-square error on held-out rows),
        ``error_redrawn`` (the same with suspect variables redrawn) and ``expected``.
    chosen : str
        The candidate in use.
    reason : str
        One sentence.
    variables : str
        The names of those left out and of those used, a line for each verdict; long lists are
        shortened. ``variables_`` of the model has all.
    """

    candidates: pd.DataFrame
    chosen: str
    reason: str
    variables: str = ""

    def __str__(self) -> str:
        table = self.candidates.to_string(index=False, float_format="%.3f", na_rep="")
        return f"{table}\nchosen: {self.chosen}. {self.reason}\n{self.variables}".rstrip()

    def _repr_html_(self) -> str:
        from stablepred.html.fragments import table

        caption = f"{self.chosen}: {self.reason}\n{self.variables}".rstrip()
        return table(self.candidates, caption, index=False)


@dataclass(frozen=True, eq=False)
class Choice:
    """The decision, the model that follows from it, and the variables that it uses."""

    decision: Decision
    fitted: Fitted
    used: BoolArray


@dataclass(frozen=True, eq=False)
class Guard:
    """Fits candidates and compares them.

    ``variables`` has one column per variable of ``sample``, and the verdict is about those.
    ``fit`` makes the models that are compared; boosting is added to the best of the default ones.
    """

    sample: Sample
    variables: Sample
    folds: Folds
    verdict: Verdict
    fit: Fit
    seed: int
    unit: float = 1.0  # of the outcome, for the errors in the decision

    def decide(self) -> Choice:
        everything = np.ones(self.variables.n_features, dtype=bool)
        whole = self.fit(self.sample, self.folds)
        if reason := self._reason_to_keep_all(whole):
            return self._take_unrivalled(everything, whole, reason)
        stable, noisy = self.verdict.stable, self.verdict.noisy
        fits = {ALL: whole, STABLE_ALONE: self.fit(*self._restrict(stable))}
        masks = {ALL: everything}
        reclaimed = self._find_sufficient(fits)
        if reclaimed is not None:
            masks = {SUFFICIENT: reclaimed, ALL: everything}
        else:
            if noisy.any() and (stable == noisy).any():  # else the same as another candidate
                masks[WITHOUT_NOISY] = ~noisy
            if not stable.all():
                masks[STABLE_ALONE] = stable
        fits = {n: fits[n] if n in fits else self.fit(*self._restrict(m)) for n, m in masks.items()}
        table = self._compare(masks, fits)
        best = self._best(table)
        return self._take(
            Decision(table, best, self._explain(table, best)), masks[best], fits[best]
        )

    def follow(self) -> Choice:
        """Leave out what is called noisy, without a comparison."""
        used = ~self.verdict.noisy if self.verdict.stable.any() else self.verdict.stable | True
        fitted = self.fit(*self._restrict(used))
        return self._take_unrivalled(used, fitted, "The verdict was followed without the guard.")

    def _take_unrivalled(self, used: BoolArray, fitted: Fitted, reason: str) -> Choice:
        name = ALL if used.all() else WITHOUT_NOISY
        row = (name, int(used.sum()), self._error(fitted), np.nan, np.nan)
        return self._take(
            Decision(pd.DataFrame([row], columns=COLUMNS), name, reason), used, fitted
        )

    def _take(self, decision: Decision, used: BoolArray, fitted: Fitted) -> Choice:
        if self.fit is fit_base:
            fitted = add_boosting(*self._restrict(used), fitted)
        return Choice(decision, fitted, used)

    def _columns_of(self, used: BoolArray) -> BoolArray:
        return np.isin(self.sample.groups, self.variables.origin.columns[used])

    def _restrict(self, used: BoolArray) -> tuple[Sample, Folds]:
        columns = self._columns_of(used)
        return self.sample.restrict(columns), self.folds.restrict(columns)

    def _error(self, fitted: Fitted) -> float:
        return self.unit * self.folds.rmse(fitted.held_out)

    def _reason_to_keep_all(self, whole: Fitted) -> str:
        """Why nothing is left out; empty where other candidates are worth a fit."""
        squares = partial(self.folds.outcome.squared_errors, y=self.folds.y)
        if self.folds.is_empty:
            return "There are too few rows of one kind to hold any out."
        if self.verdict.trust < LEAST_TRUST:
            return (
                "The variables do not depend on each other as selection would make them "
                f"(probability {self.verdict.trust:.2f}), so nothing is left out."
            )
        if not self.verdict.stable.any():
            return "No variable is clearly stable, so there would be nothing to rely on."
        if self.folds.exceeds(squares(self._constant()) - squares(whole.held_out), LARGER):
            return ""
        return (
            "All variables together say nothing about the outcome that held-out rows confirm, "
            "so nothing is left out."
        )

    def _constant(self) -> Tensor:
        """The prediction of a constant for every held-out row."""
        y, copies = self.folds.y, self.folds.copies
        if self.folds.outcome.name != "multinomial":
            return torch.full_like(y, float(copies @ y / copies.sum()))
        classes = range(int(self.sample.y.max()) + 1)
        shares = torch.stack([copies[y == k].sum() for k in classes]) / copies.sum()
        return shares.expand(len(y), -1)

    def _compare(self, masks: dict[str, BoolArray], fits: dict[str, Fitted]) -> pd.DataFrame:
        """Every candidate's error as it is, where the suspects are redrawn, and expected."""
        changed = self._redraw((self.verdict.leaning > 0.5) & ~self.verdict.stable)
        trust, rows = self.verdict.trust, []
        for name, fitted in fits.items():
            columns, error = self._columns_of(masks[name]), self._error(fitted)
            again = [
                self.unit * self.folds.rmse(self.folds.predict(fitted.on_folds, x[:, columns]))
                for x in changed
            ]
            redrawn = error if name == SUFFICIENT else float(np.mean([error, *again]))
            expected = (1 - trust) * error + trust * redrawn
            rows.append((name, int(masks[name].sum()), error, redrawn, expected))
        return pd.DataFrame(rows, columns=COLUMNS)

    def _redraw(self, suspects: BoolArray) -> list[Tensor]:
        """The rows with some variables taken from any row, and from one with another outcome."""
        rng, x = numpy_generator(self.seed, "redraw"), self.sample.features
        copies, strata = self.sample.copies.cpu().numpy(), self.folds.outcome.strata(self.sample.y)
        index = torch.as_tensor(np.flatnonzero(self._columns_of(suspects)), device=x.device)

        def draw(source: Tensor, count: int) -> Tensor:
            rows = np.flatnonzero(source.cpu().numpy())
            share = copies[rows] / copies[rows].sum()
            return torch.as_tensor(rng.choice(rows, count, p=share), device=x.device)

        anyone, other = x.clone(), x.clone()
        anyone[:, index] = x[draw(torch.ones_like(self.sample.y), len(x))][:, index]
        for k, mask in enumerate(strata):
            rows = torch.nonzero(mask)
            opposite = strata[(k + len(strata) // 2) % len(strata)]
            other[rows, index] = x[draw(opposite, len(rows))][:, index]
        return [anyone, other]

    def _best(self, table: pd.DataFrame) -> str:
        """The candidate of least expected error, of those that keep enough of what all say."""
        said = (self.unit * self.folds.rmse(self._constant())) ** 2 - table["error"] ** 2
        everything = table["candidate"] == ALL
        usable = table[everything | (said >= LEAST_KEPT * said[everything].item())]
        return str(usable.set_index("candidate")["expected"].idxmin())

    def _explain(self, table: pd.DataFrame, best: str) -> str:
        if best == SUFFICIENT:
            return "The stable variables and a few more say all that all variables say."
        expected = table.set_index("candidate")["expected"]
        if expected[best] > expected.min():
            return (
                f"A lower error is expected of the candidate {str(expected.idxmin())!r}, but it "
                "loses most of what all variables say."
            )
        compared = f"; all variables {expected[ALL]:.3f}" if best != ALL else ""
        return (
            f"It has the lowest expected error ({expected[best]:.3f}{compared}) if variables that "
            f"are more likely noisy than not change with probability {self.verdict.trust:.2f}."
        )

    # --- a few more variables that say all there is to say ---

    def _find_sufficient(self, fits: dict[str, Fitted]) -> BoolArray | None:
        """The stable variables and at most three more that say what all say, if there are any.

        Under selection on the outcome every selected variable adds to what the causes say. Where a
        few bring back all that was lost, the outcome does not depend on the rest given them, and it
        is the verdict on those few that was wrong. Two noisy variables must stay out for each.
        """
        verdict, folds = self.verdict, self.folds
        if folds.outcome.name == "multinomial":
            return None
        chosen = verdict.stable.copy()
        fitted = fits[STABLE_ALONE] if self.fit is fit_base else fit_base(*self._restrict(chosen))
        losses, by_all = (folds.losses(one.held_out) for one in (fitted, fits[ALL]))
        loss = folds.mean(by_all)
        lost = folds.mean(losses) - loss
        if not folds.exceeds(losses - by_all, LARGER):
            return None
        for _ in range(MOST_RECLAIMED):
            if chosen.all():
                return None
            chosen[self._most_missed(chosen, fitted)] = True
            if (verdict.noisy & ~chosen).sum() < 2 * (chosen & ~verdict.stable).sum():
                return None
            fitted = fit_base(*self._restrict(chosen))
            if folds.mean(folds.losses(fitted.held_out)) - loss < (1 - ALL_SAID) * lost:
                return chosen
        return None

    def _most_missed(self, chosen: BoolArray, fitted: Fitted) -> int:
        """The variable outside that goes most with the residuals, alone or times one inside."""
        rows = torch.cat(self.folds.rows)
        x, copies = self.variables.features[rows], self.folds.copies
        x = x - copies @ x / copies.sum()
        residual = self.folds.y - fitted.held_out
        inside, outside = np.flatnonzero(chosen), np.flatnonzero(~chosen)
        partners = torch.cat([torch.ones_like(x[:, :1]), x[:, inside]], dim=1)
        own = x[:, outside]
        score = own.T @ (partners * (copies * residual)[:, None])
        spread = (own**2).T @ (partners**2 * (copies * residual**2)[:, None])
        t = (score.abs() / (spread + 1e-300).sqrt()).max(dim=1).values
        return int(outside[int(t.argmax())])
