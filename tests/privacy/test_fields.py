"""A parameter is declared once: constructor, checks, help and table come from the same line."""

import importlib
import inspect
import pkgutil

import problems
from problems.sbm import RoundsRecovery
from sosdp.estimator.base import ReleasingEstimator
from sosdp.estimator.field import Field, Fitted, choice, optional, part, positive, share, whole
from sosdp.estimator.parameters import Parameters
from tests.refusals import each, refusals


class Made(Parameters):
    """An estimator."""

    epsilon: float = Field(positive, "budget of one fit")
    rounds: int = Field(whole(2), "how often", default=3, kw_only=True)
    goal: str = Field(choice("a", "b"), "what for", default="a", kw_only=True)
    width: float | None = Field(optional(part), "how wide", default=None, kw_only=True)
    split: float = Field(share, "of the budget", default=0.5, kw_only=True)
    best_: int = Fitted()


def test_constructor_checks_and_help_come_from_the_declaration():
    assert str(inspect.signature(Made)) == (
        "(epsilon: float, *, rounds: int = 3, goal: str = 'a', width: float | None = None, "
        "split: float = 0.5)"
    )
    made = Made(1.0, goal="b")
    assert made.get_params() == {"epsilon": 1.0, "goal": "b", "rounds": 3, "split": 0.5, "width": None}
    made._check_parameters()
    assert "rounds, default 3\n    how often" in Made.__doc__
    assert not hasattr(made, "found_") and not hasattr(Made, "epsilon")


def test_every_estimator_declares_its_parameters_and_says_what_they_are():
    seen = 0
    for info in pkgutil.walk_packages(problems.__path__, "problems."):
        for thing in vars(importlib.import_module(info.name)).values():
            if inspect.isclass(thing) and issubclass(thing, ReleasingEstimator):
                if thing.__module__ == info.name and not inspect.isabstract(thing):
                    seen += 1
                    declared = thing._declared
                    assert set(declared) == set(thing._get_param_names()), thing
                    assert all(item.text.strip() for item in declared.values()), thing
    assert seen >= 25 and RoundsRecovery(1.0, 1e-6, 0.5, 20.0).communities == 2


def test_a_default_that_all_would_share_is_refused():
    assert Field(None, "a tuple", default=()).default == ()


test_refusals = refusals(
    *(
        (lambda name=name, wrong=wrong: Made(**{"epsilon": 1.0, name: wrong})._check_parameters(), name)
        for name, wrong in (("epsilon", 0), ("rounds", 1), ("goal", "c"), ("width", 2), ("split", 1))
    ),
    (lambda: Made(1.0, round=3), "did you mean 'rounds'", TypeError),
    (Made, "Made: missing a required argument: 'epsilon'", TypeError),
    *each(lambda default: Field(None, "a list", default=default), ([], {}, set()), "shared"),
)
