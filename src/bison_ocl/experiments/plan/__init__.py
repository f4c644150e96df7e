"""Plans: the paper's items, narrowed, split into units, with their costs."""
