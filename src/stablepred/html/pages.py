"""Reports as pages: which sections there are, and what their numbers are called."""

from typing import TYPE_CHECKING

from stablepred.evaluation.verdict import methods_title
from stablepred.html.balance import balance_section, effects_section, weights_section
from stablepred.html.breakers import breakers_section
from stablepred.html.errors import MethodErrors, errors_section
from stablepred.html.methods import methods_section
from stablepred.html.model_facts import ModelFacts
from stablepred.html.page import Cell, Facts, Page, Section
from stablepred.html.run_facts import RunFacts
from stablepred.html.stress import stress_section
from stablepred.html.text import counted, error_name, label, listed, number, percent

if TYPE_CHECKING:
    from stablepred.evaluation.reports import StabilityReport
    from stablepred.evaluation.stress import StressReport


def stability_page(report: "StabilityReport") -> Page:
    """The page of a stability report."""
    comparison, facts, run = report.comparison, report.facts, report.run
    error = error_name(report.error)
    errors = MethodErrors(comparison.errors, comparison.roles, report.errors, error, report.level)
    trained_on = None if run.train is None else run.train[0]
    sections = [
        errors_section(errors, run.environments, trained_on),
        methods_section(
            errors,
            comparison.summary(),
            comparison.line,
            methods_title(comparison),
            _about_methods(report),
        ),
    ]
    if report.breakers is not None:
        sections.append(breakers_section(report.breakers, report.best, report.worst, error))
    sections += [*_model_sections(facts), _run_section(facts, run, _missing(report))]
    return Page(
        title=f"Stability report of {label(facts.name).shown}",
        verdict=report.verdict,
        numbers=_numbers(report),
        sections=sections,
        made=run.made,
    )


def _numbers(report: "StabilityReport") -> list[tuple[str, str, str]]:
    """The numbers that stand out, beside those of the references."""
    summary = report.comparison.summary()
    roles = report.comparison.roles
    others = {role: name for name, role in roles.items() if role in ("LR", "constant", "oracle")}
    numbers = []
    for column in ("Average_Error", "Stability_Error"):
        beside = [f"{role} {number(summary[column][name])}" for role, name in others.items()]
        value = number(report.errors["error"][column])
        numbers.append((column, value, ", ".join(beside) or error_name(report.error)))
    worst = number(report.errors["error"]["Worst_Error"])
    numbers.append(("Worst_Error", worst, f"in {label(report.worst).shown}"))
    share = report.facts.effective_share
    if share is not None:
        numbers.append(("Effective share", percent(share), "of the training rows, under weights"))
    return numbers


def _about_methods(report: "StabilityReport") -> list[str]:
    """What the references are, and what is missing."""
    roles = set(report.comparison.roles.values())
    meanings = {
        "LR": "LR is scikit-learn's LogisticRegression with its defaults",
        "constant": "the constant predicts the base rate for every row",
        "oracle": "the oracle is a logistic regression on the features known to be stable",
    }
    if report.run.train is None:
        return [
            "Without the training environment (train=...) there is no logistic regression and no "
            "constant to compare with."
        ]
    known = [text for role, text in meanings.items() if role in roles]
    about = f"All fitted on {label(report.run.train[0]).shown}: {'; '.join(known)}."
    if report.comparison.line is not None:
        about += (
            " The shrinkage line holds LR pulled step by step to the constant: a method helps only "
            "if no point of it is smaller in both errors."
        )
    if "oracle" in roles and "LR" in roles:
        about += (
            " The gap closed is the share of the way from LR to the oracle; more than 100 % is "
            "beyond it."
        )
    return [about, *report.comparison.notes]


def _model_sections(facts: ModelFacts) -> list[Section]:
    """Balance, weights and effects, as far as the model has them."""
    sections = []
    if facts.balance is not None:
        sections.append(balance_section(facts.balance.before, facts.balance.after))
    weights, share = facts.weights, facts.effective_share
    if weights is not None and share is not None:
        more = {name: number(value, 2) for name, value in weights.quantiles.items()}
        more["heaviest tenth of the rows"] = f"{percent(weights.heaviest_tenth)} of the weight"
        more["rows with a weight under 0.01"] = percent(weights.dropped, 1)
        if weights.above:
            more["not in the figure"] = f"{percent(weights.above, 1)} of the rows, to the right"
        rows = facts.balance.n_rows if facts.balance is not None else weights.n_rows
        sections.append(weights_section(weights.shares, weights.edges, more, rows, share))
    if facts.effects is not None:
        sections.append(effects_section(facts.effects))
    return sections


def _missing(report: "StabilityReport") -> list[str]:
    """One line on the sections that are not there."""
    facts = report.facts
    absent = [
        name
        for name, found in (
            ("no balance report", facts.balance),
            ("no weights", facts.weights),
            ("no feature effects", facts.effects),
        )
        if found is None
    ]
    lines = []
    if absent:
        lines.append(
            f"{label(facts.name).shown} has {listed(absent)}; these sections are left out."
        )
    if report.breakers is None:
        lines.append("From predictions alone there is no answer to what breaks the model.")
    if facts.converged is False:
        lines.append(f"{label(facts.name).shown} stopped before it converged.")
    return lines


def _run_section(facts: ModelFacts, run: RunFacts, remarks: list[str]) -> Section:
    """Model, data, settings and versions."""
    total = int(run.environments["rows"].sum())
    title = (
        f"{label(facts.name).shown} on {counted(total, 'row')} in "
        f"{counted(len(run.environments), 'environment')}, {counted(run.n_features, 'feature')}"
    )
    blocks = [Facts("The run", _run_entries(facts, run))]
    if facts.parameters:
        entries = [(label(name), label(value, 120)) for name, value in facts.parameters.items()]
        blocks.append(Facts(f"Parameters of {label(facts.name).shown}", entries))
    return Section("run", "What was run", title, remarks, [blocks])


def _run_entries(facts: ModelFacts, run: RunFacts) -> list[tuple[Cell, Cell]]:
    entries: list[tuple[Cell, Cell]] = [("model", label(" → ".join(facts.steps), 120))]
    if facts.n_iter is not None:
        state = {True: ", converged", False: ", not converged", None: ""}[facts.converged]
        entries.append(("fit", f"{counted(facts.n_iter, 'iteration')}{state}"))
    if run.train is not None:
        entries.append(("trained on", label(f"{run.train[0]}: {counted(run.train[1], 'row')}", 60)))
    tested = [f"{name}: {rows:,}" for name, rows in run.environments["rows"].items()]
    entries += [
        ("rows per environment", label(listed(tested, most=12), 240)),
        ("intervals", f"{run.n_bootstrap:,} bootstrap samples of the rows"),
        ("seed of the report", str(run.seed)),
        ("made", run.made),
        ("took", f"{run.seconds:.1f} s"),
    ]
    return [*entries, *run.versions.items()]


# --- stress test --------------------------------------------------------------------------------


def stress_page(report: "StressReport") -> Page:
    """The page of a stress test."""
    name, top = label(report.errors.index[0]).shown, report.errors.iloc[0]
    error = error_name(report.error)
    verdict = (
        f"The {error} of {label(report.facts.name).shown} is {number(report.observed)} as "
        f"observed and rises to {number(top['worst'])} when {name} comes to agree with the "
        f"outcome in {percent(top['worst_rate'])} of the rows"
    )
    numbers = [
        ("As observed", number(report.observed), error),
        ("Worst", number(top["worst"]), f"{name} at {percent(top['worst_rate'])}"),
        ("Features tested", f"{len(report.errors):,}", f"{len(report.skipped):,} not tested"),
    ]
    skipped = [f"{label(n).shown} was not tested: {why}." for n, why in report.skipped.items()]
    sections = [
        stress_section(report.errors, report.observed, error, report.level, skipped),
        _run_section(report.facts, report.run, []),
    ]
    title = f"Stress test of {label(report.facts.name).shown}"
    return Page(title, f"{verdict}.", numbers, sections, report.run.made)
