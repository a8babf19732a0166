"""The public names of ``sosdp.relaxation``, which load when they are first used, and where they are."""

from .pseudoexpectation import PseudoExpectation as PseudoExpectation
from .relaxation import Relaxation as Relaxation
from .sos_program import SosProgram as SosProgram
from .sos_solution import SosSolution as SosSolution
