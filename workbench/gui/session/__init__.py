"""What the window shows and edits: the session, the draft of the plan, its undo, settings and running jobs."""
