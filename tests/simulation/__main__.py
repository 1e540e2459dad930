"""`python -m tests.simulation`: runs seeds, one after the other, and says what was found."""

from tests.simulation.surroundings import SURROUNDINGS

SURROUNDINGS.install()

from tests.simulation.command import main  # noqa: E402

main()
