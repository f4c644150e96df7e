"""Commands on a saved learner."""
