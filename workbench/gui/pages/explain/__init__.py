"""The Explain page: what an ε means, what others have published, and a guided choice of one."""
