"""A figure of a paper: the run that repeats it, and the claims that our numbers are compared with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tests.benchmarks.figures.reports import NEEDS_GPU, Missing, Report

Reports = Mapping[str, Report]

NEAR = 0.10
ORDER = 3.0


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
    """Within a factor of three of the paper's value: it was measured on another machine."""
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
    """A sentence of a paper as a number: what it says, where ours is in the report, and when the two agree.

    A claim with `needs` is measured and shown but not judged, since it takes more than one GPU. `run`
    names a run other than the figure's.
    """

    what: str
    theirs: str
    rule: Rule
    where: str
    measure: Callable[[Reports], float]
    why: str = ""
    needs: str = ""
    run: str = ""


@dataclass(frozen=True)
class Figure:
    """A figure or table of a paper, with the run that repeats it."""

    number: int
    name: str
    shows: str
    run: str
    compared: str
    claims: tuple[Claim, ...]


@dataclass(frozen=True)
class Run:
    """A workflow with its words at both sizes; `seconds` is its limit on one H100."""

    name: str
    workflow: str
    small: tuple[str, ...]
    paper: tuple[str, ...]
    seconds: int = 30

    def words(self, size: str) -> list[str]:
        """Return what follows `gravel`."""
        return ["run", f"workflows/{self.workflow}.yaml", *(self.small if size == "small" else self.paper)]


@dataclass(frozen=True)
class Paper:
    """What one paper's module has."""

    key: str
    title: str
    runs: tuple[Run, ...]
    figures: tuple[Figure, ...]


@dataclass(frozen=True)
class Measured:
    """A claim with our number, or the reason why there is none."""

    claim: Claim
    ours: float | None
    reason: str = ""

    @property
    def holds(self) -> bool | None:
        """Say whether it agrees; None where nothing was measured or it needs more than one GPU."""
        if self.ours is None or self.claim.needs:
            return None
        return self.claim.rule.holds(self.ours)


@dataclass(frozen=True)
class Row:
    """A figure with all its claims measured."""

    figure: Figure
    measured: tuple[Measured, ...] = field(default=())

    @property
    def verdict(self) -> str:
        """Say in a few words whether we agree with the paper."""
        judged = [each for each in self.measured if each.holds is not None]
        held = [each for each in judged if each.holds]
        parts = []
        if held:
            all_held = len(held) == len(self.measured)
            parts.append("agrees" if all_held else f"agrees in {len(held)} of {len(judged)}")
        elif judged:
            parts.append("differs")
        parts += [each.claim.why for each in judged if not each.holds and each.claim.why]
        parts += [f"needs {each.claim.needs}" for each in self.measured if each.claim.needs]
        parts += [each.reason for each in self.measured if each.ours is None and each.reason]
        return "; ".join(dict.fromkeys(parts))


def measure(figure: Figure, found: Mapping[str, Reports], failed: Mapping[str, str]) -> Row:
    """Take every number of a figure from the reports by run; `failed` says why a run has none."""
    return Row(figure, tuple(_measured(figure, claim, found, failed) for claim in figure.claims))


def _measured(
    figure: Figure, claim: Claim, found: Mapping[str, Reports], failed: Mapping[str, str]
) -> Measured:
    run = claim.run or figure.run
    if run not in found:
        return Measured(claim, None, f"not run: {failed.get(run, 'not asked for')}")
    try:
        return Measured(claim, float(claim.measure(found[run])))
    except (Missing, LookupError, TypeError, ValueError, ArithmeticError) as error:
        if any(report.not_run() for report in found[run].values()):
            return Measured(claim, None, f"not run: {NEEDS_GPU}")
        absent = str(error) if isinstance(error, Missing) else f"nothing to compute it from ({error!r})"
        return Measured(claim, None, f"no number: {absent}")
