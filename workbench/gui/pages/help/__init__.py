"""The Help page: every topic, searched by typing."""
