"""``stablepred datasets``: the real tables that can be loaded by name, and from where."""

from stablepred.cli.screen import say


def datasets() -> None:
    """List the real tables that 'stablepred.data.load_dataset' knows, and where they come from.

    Example: stablepred datasets
    """
    from stablepred.data import DATASETS

    for name, source in DATASETS.items():
        sources = [f"files {', '.join(source.files)}"] if source.files else []
        if source.openml_id is not None:
            sources.append(f"OpenML {source.openml_id}")
        say(
            f"{name}: {source.title}\n"
            f"  {source.rows:,} rows, {source.columns} columns, outcome {source.outcome}, "
            f"environments {', '.join(source.environments) or 'none suggested'}\n"
            f"  from {' or '.join(sources) or 'scikit-learn, no file needed'}\n"
            f"  {source.licence}; {source.citation}\n"
        )
    say("Files are looked for in the folder that STABLEPRED_DATA names; else OpenML is asked.")
