"""Where the program's own files and the user's files live."""

from __future__ import annotations

from pathlib import Path


def resources() -> Path:
    """Return the folder of schemas, samples and fonts: inside the wheel, or beside the package in a checkout."""
    inside = Path(__file__).parent / "resources"
    return inside if inside.is_dir() else Path(__file__).parent.parent / "resources"


def user_data() -> Path:
    """Return the platform's user data folder (the default ledger lives there)."""
    import platformdirs

    return Path(platformdirs.user_data_dir("privacy-workbench", appauthor=False))


def user_state() -> Path:
    """Return the folder of what outlives a crash and nothing else: plans that were not saved, no data values."""
    import platformdirs

    return Path(platformdirs.user_state_dir("privacy-workbench", appauthor=False))


def user_log() -> Path:
    """Return the folder of the log, which holds no data values."""
    import platformdirs

    return Path(platformdirs.user_log_dir("privacy-workbench", appauthor=False))


def user_cache(part: str) -> Path:
    """Return a folder of what can be computed again: safe to remove at any time."""
    import platformdirs

    return Path(platformdirs.user_cache_dir("privacy-workbench", appauthor=False)) / part
