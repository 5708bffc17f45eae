"""The Memory page: what training takes by phase, for many settings at once, before there is any run."""
