"""The Compare page: every study of this session and every released model in one table, and lines drawn together."""
