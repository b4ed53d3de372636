"""The studio: runs and data in a browser, served by this machine to itself."""
