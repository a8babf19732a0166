"""Real records from scikit-learn's own files: pixels of its two sample photographs, in opponent colours."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sosdp.extras import need

Array = npt.NDArray[np.float64]

OPPONENT = np.array([[1.0, -1.0, 0.0], [0.5, 0.5, -1.0]]).T
"""Public linear map: red minus green, and yellow (their mean) minus blue."""


def photograph_pixels(name: str) -> Array:
    """(273280, 2) opponent colours of the pixels of "flower" (a dahlia before leaves) or "china" (a temple).

    A pixel is a record. In "flower" two colours stand apart by about four standard deviations after the map;
    in "china" nothing does.

    Raises:
        ValueError: another name. ModuleNotFoundError: Pillow is not installed (it comes with sosdp[plot]).
    """
    need("sklearn", "a photograph")
    from sklearn.datasets import load_sample_image

    if name not in ("flower", "china"):
        raise ValueError(f'the photographs are "flower" and "china", got {name!r}')
    image: Any = load_sample_image(f"{name}.jpg")
    return image.reshape(-1, 3).astype(np.float64) @ OPPONENT
