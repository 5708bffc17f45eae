"""Sets of images with classes, read from the usual formats: MNIST's IDX, CIFAR's binary, npz, class folders and zips."""
