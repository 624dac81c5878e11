"""From a goal to a design: objectives and limits of motions, and the search for the parameters that meet them best."""
