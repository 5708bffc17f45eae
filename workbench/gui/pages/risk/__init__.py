"""The Risk page: who could be found in the table that is open, and what makes rows unique."""
