"""What a run is judged by: the accuracy matrix, its metrics, and the confusion matrix."""
