"""What the tests of the programs share."""

from saying import say  # noqa: F401 (a fixture)
