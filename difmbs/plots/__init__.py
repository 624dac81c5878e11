"""Curves with matplotlib: how figures look, and what is drawn of numbers."""
