"""The estimators, in scikit-learn's interface: input validated once, tensors inside, NumPy out."""
