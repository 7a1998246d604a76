"""Evidence for and against each variable."""
