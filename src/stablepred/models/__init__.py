"""The border to scikit-learn: validate once, tensors in, NumPy out."""
