"""The release of RAPPOR reports, the file of permanent answers, and what verification recomputes."""
