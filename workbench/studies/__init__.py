"""Private studies: repeated runs and comparisons, whose results cannot be released."""
