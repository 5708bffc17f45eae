"""The settings of a small sweep of DP-SGD: two noise multipliers and two rates."""

SETTINGS = """
[settings]
network = "logistic"
noise = [2.0, 8.0]
delta = 1e-3
batch = 20
epochs = 3
lr = [0.1, 1.0]
clip = 1.0
accountant = "rdp"
"""
