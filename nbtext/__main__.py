"""`nbtext`, and `python -m nbtext`."""

import os
import sys


def main() -> None:
    """Run the command line; an interrupt while it is being imported ends like any other."""
    try:
        from nbtext.cli.main import main as run
    except KeyboardInterrupt:
        sys.stderr.write("nbtext: interrupted\n")
        sys.stderr.flush()
        os._exit(130)
    run()


if __name__ == "__main__":
    main()
