"""Model files, checkpoints, ONNX, and the one writer."""
