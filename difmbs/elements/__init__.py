"""What a model is made of, written for one instance: bodies, connectors, sensors, events, and the ports between."""
