"""The release of a synthetic table: what the door for central releases needs to know of it."""
