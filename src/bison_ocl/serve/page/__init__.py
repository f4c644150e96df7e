"""The live page: one HTML file, its style and its script, without anything from elsewhere."""
