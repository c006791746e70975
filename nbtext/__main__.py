"""`nbtext`, and `python -m nbtext`."""

import gc
import os
import sys


def main() -> None:
    """Run the command line; an interrupt or a lack of memory before or after its work ends it with
    one line, too.
    """
    try:
        from nbtext.interrupts import end_on_signals

        end_on_signals()
        # the search for garbage cycles took a tenth of the time of a short command
        gc.set_threshold(100_000, 50, 50)
        from nbtext.cli.main import main as run

        run()
    except KeyboardInterrupt:
        _leave("interrupted", 130)
    except (MemoryError, SystemError) as error:
        from nbtext.errors import is_out_of_memory

        if not is_out_of_memory(error):
            raise
        _leave("out of memory", 1)


def _leave(sentence: str, status: int) -> None:
    sys.stderr.write(f"nbtext: {sentence}\n")
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    main()
