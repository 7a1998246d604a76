"""The order of the gallery: what the library is for, its tools, other methods, long scripts."""

STORIES = [
    "plot_lr_breaks",
    "plot_variables",
    "plot_price",
    "plot_balancing_hurts",
    "plot_own_csv",
    "plot_explain_drop",
    "plot_boosting",
    "plot_love_plot",
    "plot_environments",
    "plot_continuous_world",
    "plot_environment_study",
    "plot_compare",
    "plot_parquet",
]


class StoryOrder:
    """Sorts stories as above, and then all other scripts by name."""

    def __init__(self, src_dir: str) -> None:
        pass

    def __call__(self, filename: str) -> tuple[int, str]:
        """The key to sort by."""
        name = filename.removesuffix(".py")
        return (STORIES.index(name) if name in STORIES else len(STORIES), name)
