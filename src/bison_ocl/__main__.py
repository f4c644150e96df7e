"""`python -m bison_ocl`: the command of this Python, where several are installed."""

from bison_ocl.cli import main

if __name__ == "__main__":
    main()
