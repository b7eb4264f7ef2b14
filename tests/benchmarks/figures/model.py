"""A figure of a paper: the run that repeats it, and the claims that our numbers are compared with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tests.benchmarks.figures.reports import Missing, Report

Reports = Mapping[str, Report]

NEAR = 0.10
ORDER = 3.0

CPU, GPU, TWO, FOUR = "a CPU", "one GPU", "two GPUs", "four GPUs"
COUNTERS = "hardware counters of a GPU"
"""What a number can be measured on."""

MARK = "†"
"""After a verdict: the code changed since, or is not known."""


@dataclass(frozen=True)
class Rule:
    """When a number agrees with a paper's, and how that is said."""

    says: str
    holds: Callable[[float], bool]


def sets(**values: object) -> tuple[str, ...]:
    """Return the words that give parameters of a workflow these values."""
    return tuple(word for name, value in values.items() for word in ("--set", f"{name}={value}"))


def near(value: float) -> Rule:
    """Within a tenth of the paper's value."""
    return Rule("±10 %", lambda ours: abs(ours - value) <= NEAR * abs(value))


def order(value: float) -> Rule:
    """Within a factor of three of the paper's value: a ratio or share that depends on the machine."""
    return Rule(
        "factor 3",
        lambda ours: ours > 0 and max(ours / value, value / ours) <= ORDER,
    )


def above(bound: float) -> Rule:
    """The direction that the paper claims, as a bound from below."""
    return Rule(f"above {bound:g}", lambda ours: ours > bound)


def below(bound: float) -> Rule:
    """The direction that the paper claims, as a bound from above."""
    return Rule(f"below {bound:g}", lambda ours: ours < bound)


def between(low: float, high: float) -> Rule:
    """A range that the paper states in words, such as a third."""
    return Rule(f"{low:g} to {high:g}", lambda ours: low <= ours <= high)


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper as a number: what it says and where, when ours agrees, and where ours is.

    `theirs` is the number or word of the paper's `section`. Numbers are ratios within one machine, shares
    or counts: none is a rate or time of ours beside one of another machine. `run` names a run other than
    the figure's, and `waits` what the number waits for, where that is not what the figure's run needs.
    """

    what: str
    theirs: str
    section: str
    rule: Rule
    where: str
    measure: Callable[[Reports], float]
    run: str = ""
    waits: str = ""


@dataclass(frozen=True)
class Figure:
    """A figure or table of a paper, with the run that repeats it."""

    number: int
    name: str
    shows: str
    run: str
    claims: tuple[Claim, ...]


@dataclass(frozen=True)
class Run:
    """A workflow with its words at both sizes; `seconds` is its limit, `needs` what it has to run on.

    `preset` is the paper whose settings its searches have; `kernels` are modules that run and that its
    report does not name.
    """

    name: str
    workflow: str
    small: tuple[str, ...]
    paper: tuple[str, ...]
    seconds: int = 30
    needs: str = GPU
    preset: str = ""
    kernels: tuple[str, ...] = ()

    def words(self, size: str) -> list[str]:
        """Return what follows `gravel`."""
        return ["run", f"workflows/{self.workflow}.yaml", *(self.small if size == "small" else self.paper)]


@dataclass(frozen=True)
class Paper:
    """What one paper's module has; `causes` say why figures differ, by their numbers."""

    key: str
    title: str
    runs: tuple[Run, ...]
    figures: tuple[Figure, ...]
    causes: Mapping[str, str] = field(default_factory=dict)

    def run(self, name: str) -> Run:
        """Return the run of that name."""
        return next(run for run in self.runs if run.name == name)


@dataclass(frozen=True)
class Measured:
    """A claim with our number, or what it waits for, or why a run has none."""

    claim: Claim
    ours: float | None
    waits: str = ""
    lacks: str = ""

    @property
    def holds(self) -> bool | None:
        """Say whether it agrees; None where nothing was measured."""
        return None if self.ours is None else self.claim.rule.holds(self.ours)


@dataclass(frozen=True)
class Row:
    """A figure with all its claims measured; `marks` say what changed since."""

    figure: Figure
    measured: tuple[Measured, ...] = ()
    marks: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        """Say in a few words whether we agree with the paper."""
        judged = [each for each in self.measured if each.holds is not None]
        held = sum(bool(each.holds) for each in judged)
        parts = []
        if judged:
            all_held = held == len(self.measured)
            parts.append(
                "agrees" if all_held else f"agrees in {held} of {len(judged)}" if held else "differs"
            )
        waits = dict.fromkeys(each.waits for each in self.measured if each.waits)
        parts += [f"waits for {', '.join(waits)}"] if waits else []
        parts += dict.fromkeys(f"no number: {each.lacks}" for each in self.measured if each.lacks)
        return "; ".join(parts) + (MARK if judged and self.marks else "")


def measure(paper: Paper, figure: Figure, found: Mapping[str, Reports]) -> tuple[Measured, ...]:
    """Take every number of a figure from the reports by run."""
    return tuple(_measured(paper, figure, claim, found) for claim in figure.claims)


def _measured(paper: Paper, figure: Figure, claim: Claim, found: Mapping[str, Reports]) -> Measured:
    run = claim.run or figure.run
    waits = claim.waits or paper.run(run).needs
    if run not in found:
        return Measured(claim, None, waits)
    try:
        return Measured(claim, float(claim.measure(found[run])))
    except Missing as missing:
        return Measured(claim, None, waits) if claim.waits else Measured(claim, None, lacks=str(missing))
    except (LookupError, TypeError, ValueError, ArithmeticError) as error:
        return Measured(claim, None, lacks=f"nothing to compute it from ({error!r})")
