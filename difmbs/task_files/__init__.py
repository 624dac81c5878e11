"""Files that say what is to be identified or optimized, and the folders of results."""
