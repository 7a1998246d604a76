"""Synthetic worlds and biased selection."""
