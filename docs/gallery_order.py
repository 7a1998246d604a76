"""The order of the gallery: what the library is for, its tools, other methods and tables."""

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
    """The key by which sphinx-gallery sorts the files of a folder."""

    def __init__(self, src_dir: str) -> None:
        pass

    def __call__(self, filename: str) -> int:
        """The place of a story; tests/test_site.py checks that each has one."""
        return STORIES.index(filename.removesuffix(".py"))
