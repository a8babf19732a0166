"""The public names of ``sosdp.privacy``, which load when they are first used, and where they are."""

from .guarantee.adjacency import Adjacency as Adjacency
from .guarantee.budget import Budget as Budget
from .guarantee.budget import BudgetExceeded as BudgetExceeded
from .guarantee.composition import halting as halting
from .guarantee.composition import parallel as parallel
from .guarantee.composition import random_split as random_split
from .guarantee.composition import subsample as subsample
from .guarantee.guarantee import Guarantee as Guarantee
from .guarantee.guarantee import compose as compose
from .guarantee.loss import PrivacyLoss as PrivacyLoss
from .guarantee.release import Release as Release
from .mechanisms.exponential import pure_exponential as pure_exponential
from .mechanisms.exponential import truncated_exponential as truncated_exponential
from .mechanisms.propose_test_release.acceptance import accept_profile as accept_profile
from .mechanisms.propose_test_release.block_vote import release_by_vote as release_by_vote
from .mechanisms.propose_test_release.block_vote import release_with_margin as release_with_margin
from .mechanisms.propose_test_release.friendly_core import release_by_friends as release_by_friends
from .mechanisms.propose_test_release.tuple_averages import release_tuple_averages as release_tuple_averages
from .table.records import Parts as Parts
from .table.table import Table as Table
from .verification.audit import audit as audit
from .verification.sensitivity import verify_sensitivity as verify_sensitivity
from .verification.strongly_convex import falsify_program as falsify_program
