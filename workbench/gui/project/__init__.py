"""The project file, what is saved of it by itself, recent files, and opening a table."""
