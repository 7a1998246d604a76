"""Studies of the library, on one contract (`studies.study.Study`); not part of the package.

``stablepred reproduce`` runs them from a clone of the repository.
"""
