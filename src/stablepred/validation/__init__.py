"""Environments made from training rows, and searches on them."""
