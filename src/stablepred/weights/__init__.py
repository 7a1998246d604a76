"""Balancing losses of row weights, with their gradients."""
