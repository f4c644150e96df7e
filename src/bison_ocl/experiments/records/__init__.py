"""What a run leaves behind: its identity, its record, the file of records, AI between them."""
