"""Rules of inference: from a trained network and its memory to scores, whatever the method."""
