"""What holds for every method, as checks: `bison-ocl check` and the tests run the same ones."""
