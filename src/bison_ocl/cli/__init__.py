"""The command `bison-ocl`; `main` imports nothing before it can handle Ctrl-C."""


def main() -> None:
    """Run the command and end the process."""
    try:
        from bison_ocl.cli.process.start import start

        start()
    except KeyboardInterrupt:
        raise SystemExit(130) from None
