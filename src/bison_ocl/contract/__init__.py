"""The contract of all methods, as checks that `bison-ocl check` and the tests run."""
