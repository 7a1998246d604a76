"""Environments made from training rows, and the search that scores candidates in them."""
