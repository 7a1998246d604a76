"""Outcomes: the loss of a prediction and what "given the outcome" means."""
