"""`python -m longwire` is the `longwire` command."""

from longwire.cli import main

main()
