"""Shifts as nature makes them: who helps, who harms, and by how much, on thirteen tables."""
