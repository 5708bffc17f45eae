"""The RAPPOR page: what a collection costs and can detect, simulated or released, decoded and looked at."""
