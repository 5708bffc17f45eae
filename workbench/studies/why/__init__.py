"""Why a private model costs accuracy, and what would help most."""
