"""Engines that carry out plans: processes on this machine, or a Ray cluster."""
