"""Measurements that are no tests: what a step costs, and what each method reaches."""
