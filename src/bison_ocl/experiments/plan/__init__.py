"""What is to be run: the paper's items, narrowed, cut into units, with their costs."""
