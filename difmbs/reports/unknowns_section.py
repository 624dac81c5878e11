"""Parts of the page of a fit that are about the unknowns: their table, correlation, and what the data determine."""

import numpy as np
from matplotlib.colors import LinearSegmentedColormap

from ..core.formatting import Number, count, listed, measured, short
from ..core.markup import Html, cell, figure, items, join, note, paragraph, table
from ..identification import channel_units
from ..identification.fit import Fit
from ..identification.identifiability import RANK
from ..identification.verdict import CORRELATED, known_correlation, strongest
from ..plots.inline_svg import Drawing
from ..plots.style import DATA, QUIET, label, logarithmic, new_figure, style

_MATRIX, _NUMBERS = 40, 14
"""The largest matrices that are drawn, and drawn with numbers."""
_BLUE_TO_RED = LinearSegmentedColormap.from_list("correlation", ["#2166ac", "#ffffff", "#b2182b"], N=41)
"""Number of colours, so small that matplotlib draws the scale without an image."""


def unknown_table(fit: Fit) -> Html:
    unknowns, intervals = fit.setup.unknowns, fit.interval()
    rows, scaled = [], fit.error_factor != 1
    for i, name in enumerate(fit.names):
        value, error = fit.values[name], fit.standard_errors[name]
        known = np.isfinite(error) and error > 0
        low, high = intervals[name] if known else (np.nan, np.nan)
        rows.append(
            (
                name,
                channel_units.of_unknown(fit.setup.system, unknowns, i) or "–",
                cell(measured(value, error), repr(value)),
                # 0 is that of an unknown that is held at a bound.
                cell(short(error, 2) if error > 0 else Number("–"), repr(error)),
                *([_scaled(fit, name)] if scaled else []),
                Number(f"{measured(low, error)} … {measured(high, error)}" if known else "–"),
                short(fit.start[name]),
                _range(fit, i),
                _remark(fit, i),
            )
        )
    errors = ["standard error", *(["scaled error"] if scaled else [])]
    head = ["unknown", "unit", "value", *errors, "95 % interval", "start", "range and prior", "remarks"]
    how = "Student's distribution" if fit.setup.estimated else "the normal distribution"
    explained = note(
        f"Standard errors by linearization at the optimum; intervals by {how}. Rest the pointer on a number to see "
        "all its digits."
    )
    factor = note(
        f"Scaled errors: standard errors times √(χ² / degrees of freedom) = {short(fit.error_factor, 3)}, as if the "
        "noise were as large as the residuals."
    )
    return join([table(head, rows), explained, factor if scaled else "", _others(fit)])


def _scaled(fit: Fit, name: str) -> Html:
    error = fit.scaled_standard_errors[name]
    return cell(short(error, 2) if error > 0 else Number("–"), repr(error))


def _range(fit: Fit, i: int) -> str:
    unknowns = fit.setup.unknowns
    lower, upper = unknowns.lower[i], unknowns.upper[i]
    if np.isinf(lower) and np.isinf(upper):
        said = "free"
    elif lower == 0 and np.isinf(upper):
        said = "> 0"
    else:
        said = f"{short(lower)} … {short(upper)}"
    deviation = unknowns.prior_deviation[i]
    return f"{said}; prior {short(unknowns.prior_mean[i])} ± {short(deviation)}" if np.isfinite(deviation) else said


def _remark(fit: Fit, i: int) -> str:
    name = fit.names[i]
    error, value = fit.standard_errors[name], fit.values[name]
    said = []
    if np.isinf(error):
        said.append("not determined by itself")
    if name in fit.at_bounds:
        said.append(f"at its {fit.at_bounds[name]} bound")
    if np.isfinite(error) and error > 0.25 * abs(value) > 0:
        said.append(f"± {short(100 * error / abs(value), 2)} %")
    return ", ".join(said)


def _others(fit: Fit) -> Html:
    """Parameters that were fixed, or tied to unknowns."""
    unknowns, said = fit.setup.unknowns, []
    for path, whole in unknowns.fixed.items():
        values = ", ".join(short(x, 7) for x in np.ravel(whole)[:6]) + ", …" * (np.size(whole) > 6)
        said.append(f"{'.'.join(path)} was fixed: {values}")
    for target in unknowns.targets:
        if (target.factor, target.offset) != (1.0, 0.0):
            to = listed(list(dict.fromkeys(fit.names[s] for row in target.slots for s in row)))
            offset = f" + {short(target.offset)}" if target.offset else ""
            said.append(f"{'.'.join(target.path)} was tied: {short(target.factor)} · {to}{offset}")
    return join([paragraph("Besides:"), items(said)]) if said else Html("")


def correlation(drawing: Drawing, fit: Fit) -> Html:
    size = len(fit.names)
    if size == 1:
        return paragraph("There is one unknown only.")
    pairs = [(fit.names[i], fit.names[j], short(r, 4)) for i, j, r in strongest(fit, 0.0 if size <= 6 else 0.5)]
    listing = (
        table(["unknown", "and", "correlation"], pairs, 20)
        if pairs
        else paragraph("No two that are known are correlated by 0.5.")
    )
    said = note(
        f"Near ±1 (beyond {CORRELATED}) the data determine a combination of two unknowns better than each of them. "
        "Grey: no standard error, as at a bound or where an unknown is not determined."
    )
    if size > _MATRIX:
        return join(
            [paragraph(f"The matrix of {size} unknowns is too large to be drawn. The strongest:"), listing, said]
        )
    return join([figure(_heat_map(drawing, fit), "Correlation of the unknowns."), listing, said])


def _heat_map(drawing: Drawing, fit: Fit) -> Html:
    size = len(fit.names)
    matrix = known_correlation(fit)
    with style():
        side = float(np.clip(0.42 * size, 1.4, 7))
        whole = new_figure(side + 2.9, side + 1.4)
        axes = whole.subplots()
        axes.grid(visible=False)
        axes.set_facecolor("#e3e6e9")
        edges = np.arange(size + 1) - 0.5
        image = axes.pcolormesh(edges, edges, matrix, cmap=_BLUE_TO_RED, vmin=-1, vmax=1, edgecolors="white", lw=0.8)
        axes.set_aspect("equal")
        axes.invert_yaxis()
        names = [label(n, 28) for n in fit.names]
        axes.set_yticks(range(size), names)
        axes.set_xticks(range(size), names, rotation=40, ha="right", rotation_mode="anchor")
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        if size <= _NUMBERS:
            for (i, j), r in np.ndenumerate(matrix):
                # What is not quite 1 does not look so.
                digits = 2 if i == j or abs(r) < 0.995 else 4
                text = f"{r:.{digits}f}".replace("-", "−") if np.isfinite(r) else "–"
                dark = np.isfinite(r) and abs(r) > 0.6
                axes.text(j, i, text, ha="center", va="center", color="white" if dark else DATA, fontsize=7.5)
        else:
            bar = whole.colorbar(image, ax=axes, shrink=0.7, ticks=[-1, -0.5, 0, 0.5, 1])
            bar.ax.spines[:].set_visible(False)
        return drawing.svg(whole, "correlation matrix")


def identifiability(drawing: Drawing, fit: Fit) -> Html:
    found = fit.identifiability
    rank = f"The data determine {found.rank} of {count(len(fit.names), 'unknown')}"
    sure = (
        ""
        if not np.isfinite(found.condition)
        else f"; condition of the scaled sensitivities {short(found.condition, 3)}"
    )
    parts: list[object] = [paragraph(f"{rank}{sure}.")]
    if found.without_effect:
        parts.append(
            paragraph(f"No sample depends on {listed(found.without_effect)}. Fix it, or measure what it acts on.")
        )
    if found.directions:
        parts += [paragraph("What is determined, and what to do:"), items(f"{d}." for d in found.directions[:20])]
        rows = [
            (Number(k + 1), name, short(w), "relative" if d.kind == "product" else "absolute")
            for k, d in enumerate(found.directions)
            for name, w in zip(d.names, d.weights, strict=True)
        ]
        caption = "Changes of the unknowns without any effect on the data"
        parts.append(table(["direction", "unknown", "change", "kind"], rows, 60, caption))
    parts.append(_singular_values(drawing, found.singular_values))
    return join(parts)


def _singular_values(drawing: Drawing, values: np.ndarray) -> Html:
    floor = 1e-17
    with style():
        whole = new_figure(5.2, 2.3)
        axes = whole.subplots()
        places = np.arange(1, values.size + 1)
        shown = np.maximum(values, floor)
        axes.vlines(places, floor / 10, shown, color="#c9d3dd", lw=min(14, 220 / max(values.size, 1)))
        axes.plot(places, shown, "_", color=DATA, ms=12 if values.size < 30 else 4)
        axes.axhline(RANK, color=QUIET, lw=1, ls="--")
        axes.set_xlim(0.3, values.size + 0.7)
        if values.size <= 12:
            axes.set_xticks(places)
        axes.set_xlabel("number")
        axes.set_ylabel("singular value")
        logarithmic(axes)
        axes.set_ylim(min(RANK, float(shown.min(initial=1.0))) / 10, 10 * float(shown.max(initial=1.0)))
        picture = drawing.svg(whole, "singular values")
    numbers = ", ".join(short(v, 3) for v in values[:12]) + (", …" if values.size > 12 else "")
    return figure(
        picture,
        f"Singular values of the sensitivities, each unknown's scaled to length 1: {numbers}. Below the dashed line "
        "they are nothing but the error of the simulation; all near 1: the unknowns act independently.",
    )
