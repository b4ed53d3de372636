"""`python -m unbraid`."""

from unbraid.cli import main

main()
