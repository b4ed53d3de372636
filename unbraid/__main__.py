"""`python -m unbraid`."""

from unbraid.cli import main

if __name__ == "__main__":  # not when processes that train together import it
    main()
