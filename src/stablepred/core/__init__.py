"""Tensors only: the losses, the network and the solvers. Knows no files, frames, estimators."""
