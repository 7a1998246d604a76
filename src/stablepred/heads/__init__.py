"""The prediction heads and the choice among them."""
