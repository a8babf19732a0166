"""The public names of ``sosdp.privacy.mechanisms`` and where they are; they load when they are first used."""

from .basic.average import bounded_average as bounded_average
from .basic.columns import private_count as private_count
from .basic.columns import private_mean as private_mean
from .basic.columns import private_sum as private_sum
from .basic.histogram import private_histogram as private_histogram
from .basic.interior_point import interior_point as interior_point
from .basic.multiplicative_weights import multiplicative_weights as multiplicative_weights
from .basic.noisy_max import report_noisy_max as report_noisy_max
from .basic.quantile import private_quantile as private_quantile
from .basic.sparse_vector import SparseVector as SparseVector
from .basic.sparse_vector import above_threshold as above_threshold
