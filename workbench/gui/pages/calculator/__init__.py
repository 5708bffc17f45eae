"""The Calculator page: what training with DP-SGD costs, before there is any run."""
