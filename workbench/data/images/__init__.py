"""Sets of images with classes, from the usual formats: IDX (MNIST), CIFAR-10, npz, class folders and zips of these."""
