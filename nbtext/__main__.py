"""`python -m nbtext`."""

from nbtext.cli.main import main

main()
