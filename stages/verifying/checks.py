"""Records of checks, and the error for those that did not pass."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from gravel.stages.artifacts import Verification
from gravel.stages.errors import VerificationFailed

if TYPE_CHECKING:
    from gravel.kernels.verify import Check
    from gravel.stages.artifacts import Traversal
    from gravel.stages.context import Context


def verified_searches(
    context: Context, traversal: Traversal, found: Iterable[list[Check]], on: str, *, kept: bool = False
) -> Verification:
    """Record the checks of one search after another, made `on` a device; `kept` says that both labels were
    checked, though the traversal has none.

    Raises `VerificationFailed` at the first search that breaks a rule.
    """
    from gravel.kernels.verify import skipped_checks

    total = 0 if traversal.sources is None else len(traversal.sources)
    records: dict[str, dict[str, Any]] = {}
    for search, checks in enumerate(found):
        refuse_broken(checks, f"search {search + 1} of {total}")
        count_passed(checks, records, on=on)
        context.progress(search + 1, total, "searches")
    with_tree = kept or traversal.predecessor is not None
    if traversal.algorithm == "shortest_paths":
        from gravel.kernels.verify.sssp import skipped_sssp_checks

        skipped = skipped_sssp_checks(predecessor=with_tree)
    else:
        skipped = skipped_checks(distance=kept or traversal.distance is not None, predecessor=with_tree)
    return Verification(algorithm=traversal.algorithm, checks=list(records.values()), skipped=skipped)


def verified_components(
    checks: Iterable[Check],
    on: str,
    whole: float | None = None,
    *,
    algorithm: str = "components",
    what: str = "the components",
) -> Verification:
    """Record the checks of components, or of `what` else all vertices have.

    `whole` is the share of vertices with their whole component's label, given where a traversal says that it
    left components in parts. Raises `VerificationFailed`.
    """
    refuse_broken(checks, what)
    records: dict[str, dict[str, Any]] = {}
    count_passed(checks, records, on=on)
    skipped = []
    if whole is not None:
        reason = (
            "the traversal says that it left components in parts; "
            f"{100 * whole:.6g} % of the vertices have the label of their whole component"
        )
        skipped = [{"check": "edges_agree", "reason": reason, "whole": whole}]
    return Verification(algorithm=algorithm, checks=list(records.values()), skipped=skipped)


def count_passed(
    checks: Iterable[Check], records: dict[str, dict[str, Any]], *, on: str | None = None
) -> None:
    """Count one search more for each check that it passed, and say `on` which device."""
    for check in checks:
        record = {"check": check.name, "passed": True, "searches": 0, "detail": check.rule}
        if on is not None:
            record["on"] = on
        records.setdefault(check.name, record)["searches"] += 1


def refuse_broken(checks: Iterable[Check], what: str) -> None:
    """Raise for the broken rules, most telling first, naming each offender once."""
    broken = [check for check in checks if not check.passed]
    if not broken:
        return
    failures = "; ".join(
        f"{check.name} ({check.rule}) fails at {check.faults} {'vertex' if check.faults == 1 else 'vertices'}"
        for check in broken
    )
    first = broken[0]
    named = [v for arc in first.arcs for v in arc] or list(first.vertices)
    ends = "the vertices are the ends of offending arcs" if first.arcs else "the vertices break the rule"
    raise VerificationFailed(
        f"{what}: {failures}",
        hint=f"{ends} of the check {first.name}; the result is wrong, or it is of another graph",
        vertices=list(dict.fromkeys(named)),
    )
