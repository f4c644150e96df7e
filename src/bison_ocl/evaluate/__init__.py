"""Evaluation of runs: metrics of the accuracy matrix and of the confusion matrix."""
