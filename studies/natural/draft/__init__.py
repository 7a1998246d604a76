"""A draft of a default that does no harm, as the study "natural" measures it.

Nothing here is part of the library: it is a proposal that is being studied, written to be read and
compared, and its constants may still change. The order of reading: ``encode`` (a table becomes
columns), ``linear`` and ``choice`` (models whose penalties and mixture are chosen on held-out
rows), ``evidence`` and ``verdict`` (which variables look noisy), ``guard`` (which of them to leave
out), ``classifier`` (all together).
"""

from studies.natural.draft.classifier import DraftClassifier

__all__ = ["DraftClassifier"]
