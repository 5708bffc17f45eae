"""Tables in databases: their addresses, and how one is read or written in a process of its own."""
