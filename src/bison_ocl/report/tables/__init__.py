"""Tables as values: which an item has, what stands in a cell, best and test."""
