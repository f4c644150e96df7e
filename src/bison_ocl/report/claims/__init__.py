"""The main table in words: how near to the paper it is, and whether the paper's claims hold."""
