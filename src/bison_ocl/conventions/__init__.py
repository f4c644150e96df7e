"""A learner by the conventions of other libraries: scikit-learn and river."""
