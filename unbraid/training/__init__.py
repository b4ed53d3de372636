"""From a method and a data set to a run folder; the loop itself is Lightning's."""
