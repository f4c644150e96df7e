"""The memory of a learner as a person sees it."""
