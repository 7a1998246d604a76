"""Balancing losses and the weights that lower them."""
