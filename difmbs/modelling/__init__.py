"""From elements with names to a system: the builder, its checks, and assembly."""
