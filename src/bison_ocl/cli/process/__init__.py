"""The process of the command: start, interrupts, output and exit statuses."""
