"""Export: a learner's predictions as a model that runs without this package."""
