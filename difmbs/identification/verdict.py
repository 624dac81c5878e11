"""What a fit says about itself, in words: whether its numbers can be believed, and what to do if not."""

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from ..core.formatting import count, explained, listed, short
from .experiments import Experiment
from .step_error import coarse
from .uncertainty import Residuals, far_from_one

if TYPE_CHECKING:
    from .fit import Fit

GOOD, KNOWN, DOUBT, BAD = "good", "known", "doubt", "bad"
CORRELATED = 0.95
_LEAST_EXPLAINED = 0.5
"""Share of the variance of the data of a channel."""
WRONG_GRADIENT = 1e-4
_SMALL_SHIFT = 0.3
"""Of a standard error: then the error of the time steps adds less than a twentieth to it."""
_VAGUE = 0.25
"""Of a value: as uncertain it may as well be half or twice as large."""
_FAR = 1e4
"""Times the start value."""
_EXACT = 1e-6
"""Of a value: errors that are smaller are those of data without noise."""


@dataclasses.dataclass(frozen=True)
class Check:
    """One sentence of the summary: `level` is one of GOOD, KNOWN (neither good nor bad), DOUBT and BAD; `reason`: the
    same in a few words, where it is DOUBT or BAD."""

    level: str
    text: str
    reason: str = ""


def checks(fit: "Fit") -> list[Check]:
    """All that speaks for and against a fit; the check of the gradient among it if that was made."""
    found = [
        _ended(fit),
        *_chi2(fit),
        *_explaining(fit),
        *(Check(BAD, f"{hint}.", "there are questions about the data") for hint in fit.hints),
        _like_noise(fit),
        _determined(fit),
        *_steps(fit),
        *_bounds(fit),
        *_ran_away(fit),
        *_correlated(fit),
        *_vague(fit),
        *_priors(fit),
        _validated(fit),
        *_starts(fit),
        *map(gradient_check, fit.gradient_errors.values()),
    ]
    return found


def headline(found: list[Check]) -> Check:
    """The verdict: the worst level, with what it is due to."""
    for level, said in ((BAD, "Do not use these numbers yet"), (DOUBT, "The numbers can be used with reservations")):
        reasons = dict.fromkeys(check.reason for check in found if check.level == level and check.reason)
        if any(check.level == level for check in found):
            return Check(level, f"{said}{': ' if reasons else ''}{'; '.join(reasons)}.")
    return Check(GOOD, "The numbers can be believed: nothing speaks against the model, the data or the search.")


def gradient_check(error: float) -> Check:
    if not np.isfinite(error):
        return Check(
            DOUBT,
            "The derivatives could not be compared with difference quotients: some are not finite.",
            "derivatives are not finite",
        )
    if error > WRONG_GRADIENT:
        return Check(
            DOUBT,
            f"Derivatives and difference quotients differ by {short(error, 2)} relative. Look for steps and kinks in "
            "the model's functions, or simulate more precisely.",
            "derivatives differ from difference quotients",
        )
    return Check(
        GOOD, f"The derivatives are right: they agree with difference quotients to {short(error, 2)} relative."
    )


def _ended(fit: "Fit") -> Check:
    after = f"after {count(fit.evaluations, 'simulation')} with derivatives"
    words = {
        "converged": (GOOD, f"The search converged {after}."),
        "stalled": (
            DOUBT,
            f"The search stalled {after}: no step made chi² smaller. Simulate more precisely (smaller rtol, atol or "
            "dt), or start elsewhere.",
            "the search stalled",
        ),
        "max_iterations": (
            BAD,
            f"The search was cut off {after}: it had made as many iterations as it may. Resume it, or allow more with "
            "max_iterations.",
            "the search was cut off",
        ),
        "interrupted": (BAD, f"The search was interrupted {after}. Resume it.", "the search was interrupted"),
        "finished": (
            DOUBT,
            f"The optimizer made its steps along the gradient ({after}); whether they reached the optimum is not "
            "known. Compare with the convergence below.",
            "whether the optimizer reached the optimum is not known",
        ),
    }
    return Check(
        *words.get(fit.status, (DOUBT, f"The search ended with '{fit.status}' {after}.", "the search did not converge"))
    )


def _chi2(fit: "Fit") -> list[Check]:
    """Whether residuals are as large as the noise that was given."""
    found = []
    if fit.noise:
        said = ", ".join(f"{name}: {short(noise)}" for name, noise in list(fit.noise.items())[:6])
        text = f"The noise was estimated from the residuals ({said}), so their size says nothing about the model."
        found.append(Check(KNOWN, f"{text} Compare it with what the sensors are known for."))
    judged = [r for r in fit.residuals if r.channel not in fit.noise]
    if not judged or fit.degrees_of_freedom <= 0:
        return found
    if fit.setup.loss != "linear":
        return [
            *found,
            Check(KNOWN, "Large residuals count less, so chi² is not compared with the degrees of freedom."),
        ]
    share = fit.degrees_of_freedom / max(sum(r.count for r in fit.residuals), 1)
    total, free = sum(r.chi2 for r in judged), share * sum(r.count for r in judged)
    each = f"chi² is {short(total / free, 3)} for each degree of freedom"
    if far_from_one(total, free) and total > free:
        worst = max(judged, key=lambda r: r.rms)
        found.append(
            Check(
                BAD if total > 4 * free else DOUBT,
                f"The residuals are larger than the noise that was given: {each}, most of all in {_named(worst)}. The "
                "model lacks something or the noise is larger than said; the standard errors are too small until then.",
                "the residuals are larger than the noise that was given",
            )
        )
    elif far_from_one(total, free):
        found.append(
            Check(
                KNOWN,
                f"The residuals are smaller than the noise that was given: {each}. The noise is smaller than said, "
                "and the standard errors are too large.",
            )
        )
    else:
        found.append(Check(GOOD, f"The residuals are as large as the noise that was given: {each}."))
    return found


def _like_noise(fit: "Fit") -> Check:
    odd = [r for r in fit.residuals if r.remark]
    if not odd:
        return Check(GOOD, "The residuals look like noise: neighbours are independent, no outliers.")
    shown = "; ".join(f"{_named(r)}: {r.remark}" for r in odd[:4])
    more = f"; and {len(odd) - 4} more" if len(odd) > 4 else ""
    return Check(
        DOUBT,
        f"Not all residuals look like noise. {shown}{more}. The standard errors suppose that they do.",
        "not all residuals look like noise",
    )


def _explaining(fit: "Fit") -> list[Check]:
    """Where only the residuals tell the noise, a model that explains nothing makes much of it."""
    poor = [r for r in fit.residuals if r.channel in fit.noise and r.r_squared < _LEAST_EXPLAINED]
    if not poor:
        return []
    said = "; ".join(f"{explained(r.unexplained)} % in {_named(r)}" for r in poor[:4])
    nothing = min(r.r_squared for r in poor) <= 0
    return [
        Check(
            BAD if nothing else DOUBT,
            f"The model explains little of the variance of the data (R²): {said}. Zero is what a constant would do.",
            f"the model explains {'nothing' if nothing else 'little'} of the data",
        )
    ]


def _determined(fit: "Fit") -> Check:
    found = fit.identifiability
    if found.full:
        text = f"The data determine all unknowns (condition {short(found.condition, 3)})."
        if found.condition > 1e3:
            return Check(
                DOUBT,
                f"{text} But some of them hardly: small errors of the model change them much.",
                "some unknowns are hardly determined",
            )
        return Check(GOOD, text)
    lost = [n for n, s in fit.standard_errors.items() if np.isinf(s)]
    remedies = " ".join(f"{direction}." for direction in found.directions[:4])
    idle = f" No sample depends on {listed(found.without_effect)}." if found.without_effect else ""
    return Check(
        BAD,
        f"The data do not determine {listed(lost)}: {remedies}{idle}",
        f"the data do not determine {listed(lost, 3)}",
    )


def _steps(fit: "Fit") -> list[Check]:
    """Whether the error of the time steps is small beside that of the data."""
    settings = coarse(fit.setup.groups)
    if not fit.step_shifts or settings is None or settings.with_shorter_steps is None:
        return []
    other = f"{settings.with_shorter_steps.steps} instead of {settings.steps}"
    if not all(map(np.isfinite, fit.step_shifts.values())):
        said = f"With {other} the experiments cannot be predicted to their ends: the time steps are far too long."
        return [Check(BAD, said, "the time steps are far too long")]
    # Residuals that are smaller than the noise that was given do not make the errors smaller.
    pairs = zip(fit.standard_errors.items(), fit.scaled_standard_errors.values(), strict=True)
    errors = {n: max(s, scaled) for (n, s), scaled in pairs if np.isfinite(s) and s > 0}
    moved = {n: abs(fit.step_shifts[n]) / max(s, _EXACT * abs(fit.values[n])) for n, s in errors.items()}
    worst = max(moved, key=lambda n: moved[n], default=None)
    if worst is None:
        return []
    if moved[worst] <= _SMALL_SHIFT:
        return [Check(GOOD, f"The time steps are short enough: with {other} no unknown moves noticeably.")]
    return [
        Check(
            BAD if moved[worst] > 1 else DOUBT,
            f"The time steps are too long: with {other} {worst} moves by {short(moved[worst], 2)} standard errors. "
            "Give shorter ones until nothing moves.",
            "the time steps are too long",
        )
    ]


def _bounds(fit: "Fit") -> list[Check]:
    if not fit.at_bounds:
        return []
    said = listed([f"{name} ({which})" for name, which in fit.at_bounds.items()])
    return [
        Check(
            DOUBT,
            f"At a bound ended {said}. The data want it beyond: widen the range, or ask what else the model lacks. The "
            "other standard errors hold for it kept there.",
            f"at a bound ended {listed(list(fit.at_bounds), 3)}",
        )
    ]


def _ran_away(fit: "Fit") -> list[Check]:
    """Unknowns without a bound in reach that went where nothing depends on them any more."""
    found = []
    known = fit.setup.unknowns
    for name, error, positive in zip(fit.names, fit.standard_errors.values(), known.logarithmic, strict=True):
        value, start = fit.values[name], fit.start[name]
        if positive and error >= value and not start / _FAR < value < start * _FAR:
            found.append((name, "towards zero" if value < start else "towards infinity"))
    if not found:
        return []
    said = listed([f"{name} ({where}: {short(fit.values[name], 3)})" for name, where in found])
    return [
        Check(
            DOUBT,
            f"Far away from its start and not determined there: {said}. What goes to zero, the data may want none of, "
            "and what goes to infinity, rigid: fix it, or measure what it acts on.",
            f"{listed([f'{name} went {where}' for name, where in found], 3)}",
        )
    ]


def _correlated(fit: "Fit") -> list[Check]:
    pairs = strongest(fit, CORRELATED)
    if not pairs:
        return []
    said = "; ".join(f"{fit.names[i]} and {fit.names[j]} ({short(r, 3)})" for i, j, r in pairs[:4])
    more = f"; and {len(pairs) - 4} more pairs" if len(pairs) > 4 else ""
    return [
        Check(
            KNOWN,
            f"Strongly correlated: {said}{more}. The data say more about their combination than about each of them.",
        )
    ]


def known_correlation(fit: "Fit") -> np.ndarray:
    """NaN where one of the two has no standard error."""
    errors = np.array(list(fit.standard_errors.values()))
    known = np.isfinite(errors) & (errors > 0)
    return np.where(np.outer(known, known), fit.correlation, np.nan)


def strongest(fit: "Fit", least: float) -> list[tuple[int, int, float]]:
    """Pairs of unknowns whose correlation is at least so large, the largest first."""
    upper = np.triu(np.nan_to_num(known_correlation(fit)), 1)
    rows, columns = np.nonzero(np.abs(upper) >= max(least, 1e-12))
    pairs = [(int(i), int(j), float(upper[i, j])) for i, j in zip(rows, columns, strict=True)]
    return sorted(pairs, key=lambda pair: -abs(pair[2]))


def _vague(fit: "Fit") -> list[Check]:
    """Unknowns that may as well be half or twice as large."""
    vague = [n for n, s in fit.standard_errors.items() if np.isfinite(s) and s > _VAGUE * abs(fit.values[n]) > 0]
    if not vague:
        return []
    return [
        Check(
            DOUBT,
            f"Uncertain by more than a quarter of the value: {listed(vague)}. More or other measurements would help.",
            f"uncertain by more than a quarter of the value: {listed(vague, 3)}",
        )
    ]


def _priors(fit: "Fit") -> list[Check]:
    deviation = dict(zip(fit.names, fit.setup.unknowns.prior_deviation, strict=True))
    mean = dict(zip(fit.names, fit.setup.unknowns.prior_mean, strict=True))
    known = {n: s for n, s in fit.standard_errors.items() if np.isfinite(deviation[n]) and np.isfinite(s)}
    said = []
    idle = [n for n, s in known.items() if s > 0.9 * deviation[n]]
    if idle:
        said.append(Check(KNOWN, f"The data add little to what was known beforehand of {listed(idle)}."))
    against = [n for n in known if abs(fit.values[n] - mean[n]) > 3 * deviation[n]]
    if against:
        said.append(
            Check(
                DOUBT,
                f"More than three standard deviations away from what was known beforehand: {listed(against)}. Data and "
                "prior contradict each other.",
                "data and prior contradict each other",
            )
        )
    return said


def _validated(fit: "Fit") -> Check:
    if not fit.validation:
        return Check(
            KNOWN, "Nothing was kept for validation. Mark an experiment with validation=True to have it predicted."
        )
    missing = [r for r in fit.validation if not np.isfinite(r.rms)]
    if missing:
        experiment = next(e for e in fit.setup.validation if e.name == missing[0].experiment)
        asked = "Are its times in seconds, and its inputs in SI units? If they are, the"
        return Check(
            BAD,
            f"Validation: {_named(missing[0])} cannot be predicted to its end. "
            f"{asked if isinstance(experiment, Experiment) else 'The'} model does not hold where it was not fitted.",
            "the validation cannot be predicted",
        )
    unknown = [r for r in fit.validation if not _noise_known(fit, r)]
    judged = [r for r in fit.validation if _noise_known(fit, r)]
    if not judged:
        return Check(KNOWN, f"Validation: {_explained(unknown)}. The noise of these channels is not known.")
    worst = max(judged, key=lambda r: r.rms)
    own = max((r.rms for r in fit.residuals), default=1.0)
    text = f"Validation: {_named(worst)} is predicted to {short(worst.rms, 3)} standard deviations of the noise"
    if worst.rms > 1.5 * max(own, 1.0):
        said = f"{text}, worse than what was fitted. The model does not hold where it was not fitted."
        return Check(DOUBT, said, "the validation is predicted worse than what was fitted")
    if worst.rms > 2:
        return Check(DOUBT, f"{text}, as badly as what was fitted.", "the validation is predicted badly")
    return Check(GOOD, f"{text}, as well as what was fitted.")


def _noise_known(fit: "Fit", r: Residuals) -> bool:
    experiment = next(e for e in fit.setup.validation if e.name == r.experiment)
    return r.channel in fit.noise or experiment.noise(r.channel) is not None


def _explained(residuals: list[Residuals]) -> str:
    return "; ".join(f"{_named(r)}, R² {explained(r.unexplained)} %" for r in residuals[:4])


def _starts(fit: "Fit") -> list[Check]:
    if fit.tried is None:
        return []
    total, agreeing = len(fit.tried.chi2), fit.tried.agreeing
    text = f"{agreeing} of {count(total, 'start')} ended at the best optimum"
    if agreeing == 1 and total > 1:
        said = f"Only {text}. There may be a better one: try more starts, or narrower ranges."
        return [Check(DOUBT, said, "only one of the starts ended at the best optimum")]
    return [Check(GOOD, f"{text}.")]


def _named(r: Residuals) -> str:
    return f"{r.experiment}, '{r.channel}'"
