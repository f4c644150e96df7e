"""Tables as values: the layouts of items, comparisons with the paper, ranks and tests."""
