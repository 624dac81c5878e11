"""The page of a design."""

import dataclasses
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes

from ..core.formatting import count, listed, short
from ..core.markup import Html, cell, figure, join, note, paragraph, section, table, tag
from ..design.design import NOTICED, Design
from ..design.objectives import (
    AbstractQuantity,
    Final,
    LargestSize,
    Limit,
    Maximum,
    Mean,
    name_of,
    rows_of,
    said_of_entry,
)
from ..dynamics import output_units
from ..dynamics.outputs import component_of, entry_names
from ..identification import channel_units
from ..identification.verdict import BAD, DOUBT, GOOD, KNOWN, Check, headline
from ..plots.inline_svg import Drawing
from ..plots.style import FIT, QUIET, chosen, label, line, new_figure, style
from ..simulation.solution import Solution
from . import convergence
from .fit_page import Section, checklist
from .mechanism_section import mechanism
from .provenance import facts, model_facts, settings_in_words, versions

_OUTPUTS = 12
_ENTRIES = 6
_POINTS = 1500


@dataclasses.dataclass(frozen=True)
class Motions:
    """The motions at the start and at the optimum, and what the quantities of the task are there."""

    first: Solution
    last: Solution

    def of(self, quantity: object) -> tuple[float, float]:
        """Of an objective."""
        first, last = (float(np.max(np.asarray(rows_of(quantity, s, joined=True)))) for s in (self.first, self.last))
        return first, last

    def first_of(self, quantity: object, number: int) -> float:
        """One of the numbers of a limited quantity, at the start."""
        return float(np.max(np.asarray(rows_of(quantity, self.first, joined=False))[number]))


def design_page(design: Design) -> tuple[str, str, list[Section]]:
    """Title, subtitle and sections."""
    drawing, motions = Drawing(), Motions(*design.motions())
    sections = [
        section("summary", "Summary", _summary(design, motions)),
        section("unknowns", "Unknowns", _unknowns(design)),
        section("mechanism", "Mechanism", mechanism(drawing, design)),
        section("objectives", "Objectives and limits", _quantities(design, motions)),
        section("motion", "Motion at the start and at the optimum", _plots(drawing, design, motions)),
        section(
            "convergence",
            "Convergence",
            convergence.curves_and_table(drawing, design.names, design.history, design.numbers, "objective"),
            note("Taken: the best so far, where limits come first; a smaller objective may violate one."),
        ),
        section("run", "What was run", _run(design)),
    ]
    subtitle = f"{count(len(design.names), 'unknown')}, {count(len(design.objectives), 'objective')}, "
    subtitle += f"{count(len(design.limits), 'limit')}; {design.status}"
    return f"Design of {listed(design.names, 3)}", subtitle, sections


def _summary(design: Design, motions: Motions) -> Html:
    first = sum(motions.of(q)[0] for q in design.task.objectives)
    found = [_ended(design), _gained(design, first), *_limits(design), *_steps(design), *_bounds(design)]
    above = headline(found)
    words = {
        GOOD: f"This design is an optimum: the search converged{' and all limits are met' * bool(design.limits)}.",
        DOUBT: "This design can be used with the reservations marked below.",
        BAD: "Do not use this design yet: see what is marked below.",
    }
    what = (
        f"{count(len(design.names), 'unknown')} ({listed(design.names)}) chosen so that "
        f"{listed([name_of(q) for q in design.task.objectives])} is least."
    )
    return join([tag("p", words[above.level], class_=f"headline {above.level}"), paragraph(what), checklist(found)])


def _ended(design: Design) -> Check:
    after = f"after {count(design.evaluations, 'simulation')}"
    words = {
        "converged": (
            GOOD,
            f"The search converged {after}. Gradients know nothing of better optima elsewhere: try starts.",
        ),
        "stalled": (
            DOUBT,
            f"The search stalled {after}: no step was better. Simulate more precisely, or start elsewhere.",
        ),
        "max_iterations": (BAD, f"The search was cut off {after}. Allow more with max_iterations."),
        "interrupted": (BAD, f"The search was interrupted {after}. Resume it."),
    }
    return Check(*words.get(design.status, (DOUBT, f"The search ended with '{design.status}' {after}.")))


def _gained(design: Design, first: float) -> Check:
    said = f"The objective went from {short(first, 5)} to {short(design.objective, 5)}"
    if not np.isfinite(first):
        return Check(KNOWN, f"The objective is {short(design.objective, 5)}.")
    if design.objective < first and first > 0:
        return Check(GOOD, f"{said}, by {short(100 * (1 - design.objective / first), 3)} %.")
    if design.objective < first:
        return Check(GOOD, f"{said}.")
    return Check(KNOWN, f"{said}: it is not better than the start, which may have violated a limit.")


def _limits(design: Design) -> list[Check]:
    found = []
    for limit, name, value, met in zip(design.task.limits, design.limited, design.limits, design.met, strict=True):
        name = f"{name} = {short(value, 5)}, {sides(limit)}"
        if not met:
            found.append(
                Check(BAD, f"A limit is violated: {name}. Perhaps no design meets it: widen it or the ranges.")
            )
        else:
            found.append(Check(GOOD, f"The limit is met{' and active' * active(limit, value)}: {name}."))
    return found[:20]


def _steps(design: Design) -> list[Check]:
    return [] if design.step_error <= NOTICED else [Check(DOUBT, design.steps_too_long)]


def _bounds(design: Design) -> list[Check]:
    at = [n for i, n in enumerate(design.names) if bound_of(design, i)]
    return [Check(KNOWN, f"At a bound of the range: {listed(at)}. A wider one may allow better designs.")] if at else []


def bound_of(design: Design, i: int) -> str:
    """ "lower", "upper" or ""."""
    for which, bounds in (("lower", design.unknowns.lower), ("upper", design.unknowns.upper)):
        if np.isfinite(bounds[i]) and np.isclose(design.numbers[i], bounds[i], rtol=1e-9, atol=0):
            return which
    return ""


def sides(limit: Limit) -> str:
    said = [] if limit.lower is None else [f"at least {short(limit.lower)}"]
    return " and ".join(said + ([] if limit.upper is None else [f"at most {short(limit.upper)}"]))


def active(limit: Limit, value: float) -> bool:
    near = [b for b in (limit.lower, limit.upper) if b is not None and abs(value - b) <= 1e-4 * max(abs(b), 1e-12)]
    return bool(near)


def _unknowns(design: Design) -> Html:
    unknowns, rows = design.unknowns, []
    for i, name in enumerate(design.names):
        bound = bound_of(design, i)
        rows.append(
            (
                name,
                channel_units.of_unknown(design.task.system, unknowns, i) or "–",
                cell(short(design.values[name], 7), repr(design.values[name])),
                short(design.start[name], 6),
                short(unknowns.lower[i]),
                short(unknowns.upper[i]),
                f"at its {bound} bound" if bound else "",
            )
        )
    return table(["unknown", "unit", "value", "start", "from", "to", "remarks"], rows)


def _quantities(design: Design, motions: Motions) -> Html:
    task, rows = design.task, []
    for quantity in task.objectives:
        first, last = motions.of(quantity)
        rows.append(("objective", name_of(quantity), short(first, 6), cell(short(last, 6), repr(last)), "least", ""))
    found = zip(task.limits, design.judged, design.limited, design.limits, design.met, strict=True)
    for limit, number, name, value, met in found:
        state = ("active" if active(limit, value) else "met") if met else "violated"
        at_start, end = short(motions.first_of(limit.quantity, number), 6), cell(short(value, 6), repr(value))
        rows.append(("limit", name, at_start, end, sides(limit), state))
    shown = table(["", "quantity", "at the start", "at the optimum", "wanted", ""], rows)
    words = "Objectives with their weights; of several the sum counts. "
    words += "A limit on an output with several entries holds for each; shown is the one that is nearest to it."
    return join([shown, note(words)])


class _Asked(NamedTuple):
    """A quantity, with its limit and the number of it that is nearest to that, if it has one."""

    quantity: AbstractQuantity
    limit: Limit | None = None
    number: int = 0


def _plots(drawing: Drawing, design: Design, motions: Motions) -> Html:
    task = design.task
    asked: dict[tuple[str, Any], list[_Asked]] = {}
    limited = [_Asked(limit.quantity, limit, i) for limit, i in zip(task.limits, design.judged, strict=True)]
    for one in (*map(_Asked, task.objectives), *limited):
        if isinstance(one.quantity, AbstractQuantity):
            asked.setdefault((one.quantity.output, one.quantity.component), []).append(one)
    if not asked:
        return paragraph(
            "Objectives and limits are functions of the whole solution: there is no single output to plot."
        )
    pictures: list[object] = [
        _plot(drawing, design, motions, *key, wanted) for key, wanted in list(asked.items())[:_OUTPUTS]
    ]
    if len(asked) > _OUTPUTS:
        pictures.append(note(f"Of {len(asked)} outputs the first {_OUTPUTS} are shown."))
    return join(pictures)


def _plot(drawing, design, motions, output, component, wanted) -> Html:
    times = np.asarray(motions.last.t)
    names, first = _read(motions.first, output, component)
    _, last = _read(motions.last, output, component)
    shown = _shown(len(names), wanted)
    columns = min(len(shown), 3)
    lines = -(-len(shown) // columns)
    unit = output_units.of_output(design.task.system, output)
    name = said_of_entry(output, component)
    with style():
        whole = new_figure(8.4, 2.6 * lines)
        for place, i in enumerate(shown):
            axes = whole.add_subplot(lines, columns, place + 1)
            for values, color, said in ((first, QUIET, "start"), (last, FIT, "optimum")):
                at = chosen(values[:, i], _POINTS)
                line(axes, times[at], values[at, i], color=color, label=said)
            _bounds_of(axes, wanted, times[-1])
            axes.set_title(label(output_units.with_unit(names[i], unit)))
            axes.set_xlabel("time [s]")
            axes.margins(x=0.01)
            if place == 0:
                axes.legend(loc="best", handlelength=1.2)
        picture = drawing.svg(whole, f"{name} over time at the start and at the optimum")
    said = "; ".join(name_of(q) + (f" {sides(limit)}" if limit else "") for q, limit, _ in wanted)
    words = [f"For {said}."]
    if len(names) > len(shown):
        words.append(f"Of {len(names)} components {len(shown)} are drawn.")
    if len(times) > _POINTS:
        words.append(f"Of {len(times)} output times about {_POINTS} are drawn.")
    return join([tag("h3", name), figure(picture, " ".join(words))])


def _shown(count: int, wanted: list[_Asked]) -> list[int]:
    """The first entries of so many, and those that are nearest to a limit."""
    judged = {i for quantity, limit, i in wanted if limit is not None and quantity.joins != "all"}
    rest = [i for i in range(count) if i not in judged]
    return sorted([*judged, *rest][:_ENTRIES])


def _bounds_of(axes: Axes, wanted: list[_Asked], end: float) -> None:
    """Limits of a quantity that is in the unit of the output itself: over the time at which they are judged."""
    for quantity, limit, _ in wanted:
        if limit is None or not isinstance(quantity, Maximum | LargestSize | Final | Mean):
            continue
        for bound in (limit.lower, limit.upper):
            for sign in (1, -1) if isinstance(quantity, LargestSize) else (1,):
                if bound is None:
                    continue
                level = sign * bound / quantity.weight
                if isinstance(quantity, Final):
                    axes.plot([end], [level], color="#3c4650", marker="_", ms=14, mew=1.4, clip_on=False)
                else:
                    axes.axhline(level, color="#3c4650", lw=0.9, ls="--")


def _read(motion: Solution, output: str, component: int | None) -> tuple[list[str], np.ndarray]:
    """The names of the entries of an output, and a column for each."""
    values = np.asarray(motion[output])
    shape = values.shape[1:]
    names = np.array(entry_names(motion.system, output, shape), dtype=object).reshape(shape)
    chosen = np.ravel(component_of(output, names, component, axis=0)).tolist()
    return chosen, np.reshape(component_of(output, values, component), (len(values), -1))


def _run(design: Design) -> Html:
    return facts(
        [
            *versions(),
            *model_facts(design.task.system),
            ("precision of numbers", str(design.task.system.gravity.dtype)),
            ("simulations", str(design.evaluations)),
            ("simulation", settings_in_words(design.task.run_arguments)),
        ]
    )
