"""What breaks a model: the harm that each feature does in the worst environment."""

import pandas as pd

from stablepred.html.page import Block, Figure, Format, Section, Table, table_of
from stablepred.html.rows import Mark, Row, row_chart
from stablepred.html.text import label, number, signed

SHOWN = 20
# Harm below this share of the error is not worth a title.
SLIGHT = 0.02


def breakers_section(breakers: pd.DataFrame, best: str, worst: str, error: str) -> Section:
    """Features whose link to the outcome differs between two environments.

    Parameters
    ----------
    breakers : DataFrame
        ``feature``, ``association_best``, ``association_worst``, ``error_redrawn``,
        ``error_restored``, ``harm``; the most harmful feature first.
    best, worst : str
        Names of the environments.
    error : str
        Name of the error.
    """
    there, here = label(best).shown, label(worst).shown
    first, harm = label(breakers["feature"].iloc[0]).shown, float(breakers["harm"].iloc[0])
    title = f"No single feature does much harm in {here}, the worst environment"
    if harm > SLIGHT * float(breakers["error_redrawn"].iloc[0]):
        title = (
            f"{first} does most harm: the {error} in {here} falls by {number(harm)} when its link "
            f"to the outcome is as in {there}"
        )
    text = (
        f"In {here}, the worst environment, one feature at a time is drawn anew given the outcome: "
        f"once as it is there, once as it is in {there}, the best. Harm is what the error falls by "
        "from the one to the other."
    )
    blocks: list[Block] = [_figure(breakers, here, error), _table(breakers, there, here)]
    return Section("breakers", "What breaks it", title, [text], [blocks])


def _figure(breakers: pd.DataFrame, here: str, error: str) -> Figure:
    shown = breakers.head(SHOWN)
    rows = [
        Row(str(name), [Mark(harm, "circle", "c-model", signed(harm))], (0.0, harm))
        for name, harm in zip(shown["feature"], shown["harm"], strict=True)
    ]
    caption = "Features, the most harmful first."
    if len(breakers) > SHOWN:
        caption += f" The first {SHOWN} of {len(breakers):,}; the table has all."
    return Figure(
        row_chart(rows, f"harm ({error})", f"Harm by feature in {here}", zero=True), caption
    )


def _table(breakers: pd.DataFrame, there: str, here: str) -> Table:
    names = {
        "harm": "harm",
        "error_redrawn": "error, redrawn",
        "error_restored": "error, restored",
        "association_best": f"link in {there}",
        "association_worst": f"link in {here}",
    }
    frame = breakers.set_index("feature")[list(names)].rename(columns=names)
    signs: dict[str, Format] = {c: signed for c in frame.columns if c.startswith(("harm", "link"))}
    caption = "Link: mean of the outcome where the feature is high minus where it is low"
    return table_of(frame, caption, signs)
