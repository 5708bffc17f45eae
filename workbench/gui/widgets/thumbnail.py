"""A small picture of the pixels of an image."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QImage, QPixmap


def thumbnail(image: NDArray[np.uint8], side: int) -> QPixmap:
    """Return ``image`` (c, h, w), grey or of three colours, as a picture whose longer side has ``side`` pixels.

    One that is smaller is enlarged pixel by pixel: what a network sees is seen as it is.
    """
    channels, height, width = image.shape
    grey = channels == 1
    pixels = np.ascontiguousarray(image[0] if grey else image.transpose(1, 2, 0))
    kind = QImage.Format.Format_Grayscale8 if grey else QImage.Format.Format_RGB888
    drawn = QImage(pixels.data, width, height, pixels.strides[0], kind).copy()  # the array goes
    larger = max(height, width) < side
    way = Qt.TransformationMode.FastTransformation if larger else Qt.TransformationMode.SmoothTransformation
    return QPixmap.fromImage(drawn.scaled(QSize(side, side), Qt.AspectRatioMode.KeepAspectRatio, way))
