"""The window: thin pages over one observable session; work runs as jobs."""
