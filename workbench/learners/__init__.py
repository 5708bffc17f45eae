"""Private models, one file each, with the scikit-learn API."""
