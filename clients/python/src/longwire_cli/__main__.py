"""`python -m longwire_cli` is the same as the command `longwire`."""

from longwire_cli import main

if __name__ == "__main__":
    main()
