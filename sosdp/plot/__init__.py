"""Figures of results, drawn with matplotlib when it is asked for one: pip install 'sosdp[plot]'."""

from .blocks import blocks as draw_blocks
from .figures import accept_curve, cut, figure, groups, landscape, png

__all__ = ["accept_curve", "cut", "draw_blocks", "figure", "groups", "landscape", "png"]
