"""A fit or a design as one page."""
