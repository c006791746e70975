"""`nbtext`, and `python -m nbtext`."""

import os
import sys


def main() -> None:
    """Run the command line; an interrupt before or after its work ends like any other."""
    try:
        from nbtext.cli.main import main as run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("nbtext: interrupted\n")
        sys.stderr.flush()
        os._exit(130)


if __name__ == "__main__":
    main()
