"""Who carries plans out: processes on this machine, or a Ray cluster."""
