"""Results as pages: one file for a browser, with everything in it."""
