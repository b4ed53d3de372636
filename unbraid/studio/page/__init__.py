"""The studio as one file that opens without a server."""
