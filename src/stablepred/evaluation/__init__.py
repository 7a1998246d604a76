"""How well, and how equally well, a model predicts across environments."""
