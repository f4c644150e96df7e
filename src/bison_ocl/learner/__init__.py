"""A learner behind a stream: labels and images as callers have them, observe and predict."""
