"""The page of a fit."""

from collections.abc import Iterator, Sequence

from ..core.formatting import Number, count, explained, listed, short
from ..core.markup import Html, join, note, paragraph, section, table, tag
from ..identification.experiments import Experiment, ModalTest, StaticTest
from ..identification.fit import Fit
from ..identification.verdict import Check, checks, gradient_check, headline
from ..plots.inline_svg import Drawing
from . import convergence, unknowns_section
from .mechanism_section import mechanism
from .provenance import experiment_table, fit_facts, kind_of
from .samples import Samples, fitted_samples, held_out_samples
from .static_and_modal import modal_test, static_test
from .time_series import ENTRIES, series

_PANELS = 48
"""Largest number of plots of samples."""
_POINTS = 24000
"""Drawn of all plots together, and of one of them."""
_MOST, _LEAST = 2000, 300
_FEW = 20
_MARKS = {"good": "✓", "known": "i", "doubt": "!", "bad": "✗"}

Section = tuple[str, str, Html]


def fit_page(fit: Fit) -> tuple[str, str, list[Section]]:
    """Title, subtitle and sections."""
    drawing, gradient = Drawing(), fit.check_gradient()
    sections = [
        section("summary", "Summary", _summary(fit, checks(fit))),
        section("unknowns", "Unknowns", unknowns_section.unknown_table(fit)),
        section("mechanism", "Mechanism", mechanism(drawing, fit)),
        section("data", "Data and fit", *_data(drawing, fit, fitted_samples(fit))),
        section("validation", "Validation", *_validation(drawing, fit)),
        section(
            "convergence",
            "Convergence",
            convergence.curves_and_table(drawing, fit.names, fit.history, fit.numbers, "chi²"),
            note(
                "Where the noise is estimated chi² is in its latest estimate, so it jumps when that changes."
                if fit.setup.estimated
                else "chi²: the sum of squared residuals in standard deviations of the noise."
            ),
        ),
    ]
    if fit.tried is not None:
        sections.append(section("starts", "Several starts", convergence.starts(fit.names, fit.tried)))
    sections += [
        section("correlation", "Correlation", unknowns_section.correlation(drawing, fit)),
        section("identifiability", "Identifiability", unknowns_section.identifiability(drawing, fit)),
        section("gradient", "Gradient check", paragraph(gradient_check(gradient).text), note(_GRADIENT)),
        section("run", "What was run", experiment_table(fit), fit_facts(fit)),
    ]
    subtitle = f"{count(len(fit.names), 'unknown')}, {_kinds(fit)}; {fit.status}"
    return f"Fit of {listed(fit.names, 3)}", subtitle, sections


_GRADIENT = (
    "The derivative of all predictions along a random direction against a central difference quotient: the largest "
    "difference, relative to the largest derivative. 1e-6 is what difference quotients can do."
)


def checklist(found: Sequence[Check]) -> Html:
    return tag("ul", *(_checked(check) for check in found), class_="checks")


def _checked(check: Check) -> Html:
    return tag("li", tag("b", _MARKS[check.level], aria_label=check.level), check.text, class_=f"is-{check.level}")


def _summary(fit: Fit, found: list[Check]) -> Html:
    above = headline(found)
    held_out = f"; {listed([e.name for e in fit.setup.validation])} only predicted" if fit.setup.validation else ""
    samples = sum(r.count for r in fit.residuals)
    what = (
        f"{count(len(fit.names), 'unknown')} ({listed(fit.names)}) fitted to {count(samples, 'sample')} of "
        f"{listed([e.name for e in fit.experiments])}{held_out}. chi² {short(fit.chi2, 6)} for "
        f"{fit.degrees_of_freedom} degrees of freedom."
    )
    if fit.setup.loss != "linear":
        what += f" Large residuals count less (loss '{fit.setup.loss}'); sizes of residuals below are without that."
    return join([tag("p", above.text, class_=f"headline {above.level}"), paragraph(what), checklist(found)])


def _kinds(fit: Fit) -> str:
    words = [kind_of(e) for e in fit.experiments]
    plural = {"time series": "time series"}
    return listed([count(words.count(w), w, plural.get(w)) for w in dict.fromkeys(words)])


def _data(drawing: Drawing, fit: Fit, samples: list[Samples]) -> Iterator[Html]:
    yield _residual_table(samples)
    yield from _plots(drawing, fit, samples)


def _validation(drawing: Drawing, fit: Fit) -> Iterator[Html]:
    samples = held_out_samples(fit)
    if not samples:
        yield paragraph(
            "No experiment was kept for validation. What was fitted agrees with itself; whether the model also "
            "predicts, only an experiment with validation=True can tell."
        )
        return
    yield paragraph("These experiments were predicted with the fitted values, and had no influence on them.")
    yield _residual_table(samples)
    unknown = [s.channel for s in samples if s.channel not in fit.noise and s.experiment.noise(s.channel) is None]
    if unknown:
        yield note(f"The noise of {listed(list(dict.fromkeys(unknown)))} is not known: its residuals are in SI units.")
    yield from _plots(drawing, fit, samples)


def _residual_table(samples: list[Samples]) -> Html:
    rows = []
    for s in samples:
        r = s.found
        if r is None:
            rows.append((s.experiment.name, s.channel, *[Number("–")] * 6, "no sample counts"))
            continue
        # Of a few samples neither says anything.
        few = r.count < _FEW
        neighbours, normal = (Number("–"),) * 2 if few else (short(r.autocorrelation, 2), _probability(r.normality))
        numbers = (short(r.noise, 3), short(r.rms, 3), explained(r.unexplained), neighbours, normal)
        rows.append((r.experiment, r.channel, Number(r.count), *numbers, r.remark))
    head = [
        "experiment",
        "channel",
        "samples",
        "σ",
        "rms [σ]",
        "R² [%]",
        "autocorrelation",
        "normality p",
        "remarks",
    ]
    said = note(
        "σ: standard deviation of the noise (the median); rms: of the residuals; R²: the share of the variance of the "
        "data that is explained, 1 − Σ residual² / Σ (data − mean)²; autocorrelation: of neighbouring residuals, 0 for "
        "noise; normality: the probability of so unusual a distribution if the noise is normally distributed."
    )
    return join([table(head, rows), said])


def _probability(p: float) -> Number:
    return Number("< 0.001") if p < 1e-3 else short(p, 2)


def _plots(drawing: Drawing, fit: Fit, samples: list[Samples]) -> Iterator[Html]:
    """All samples if they are few, otherwise those with the largest residuals."""
    panels = [min(len(s.entries), ENTRIES) for s in samples]
    chosen, total = set(), 0
    by_size = sorted(range(len(samples)), key=lambda i: -samples[i].rms)
    for i in by_size:
        if total + panels[i] <= _PANELS:
            chosen.add(i)
            total += panels[i]
    most = max(_LEAST, min(_MOST, _POINTS // max(total, 1)))
    if len(chosen) < len(samples):
        yield note(f"Of {len(samples)} channels the {len(chosen)} with the largest residuals are shown.")
    for i in sorted(chosen):
        yield tag("h3", samples[i].title)
        yield _plot(drawing, fit, samples[i], most)


def _plot(drawing: Drawing, fit: Fit, samples: Samples, most: int) -> Html:
    match samples.experiment:
        case ModalTest():
            return modal_test(samples)
        case StaticTest():
            return static_test(drawing, fit, samples)
        case Experiment():
            return series(drawing, samples, most)
        case other:
            return paragraph(f"A {type(other).__name__} has no plot.")
