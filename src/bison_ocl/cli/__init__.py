"""The command `bison-ocl`. Nothing is imported before `main` can answer Ctrl-C."""


def main() -> None:
    """Run the command and end the process."""
    try:
        from bison_ocl.cli.start import start

        start()
    except KeyboardInterrupt:
        raise SystemExit(130) from None
