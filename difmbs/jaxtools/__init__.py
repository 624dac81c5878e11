"""What JAX does not offer by itself: functions that are traced late, storage inside programs, a cache of programs."""
