"""Experiments: definitions, records, plots and reports. Imported by the command line only."""
