"""Connectors: physical laws between markers, one file each."""
