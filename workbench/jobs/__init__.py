"""Start, progress, cancel and one terminal event for every long piece of work."""
