"""Static and modal tests: tables, and plots over the cases of load."""

import numpy as np

from ..core.formatting import Number, percent, short
from ..core.markup import Html, figure, join, table
from ..dynamics.output_units import with_unit
from ..identification import channel_units
from ..identification.experiments import ModalTest, StaticTest
from ..identification.fit import Fit
from ..plots.inline_svg import Drawing
from ..plots.style import DATA, FIT, HELD_OUT, dots, label, new_figure, style
from .samples import Samples

_ENTRIES = 6
_FEWEST = 4
"""Number of cases from which on a plot is worth it."""


def modal_test(samples: Samples) -> Html:
    assert isinstance(samples.experiment, ModalTest)
    what = with_unit(samples.channel, samples.unit)
    rows = [
        (Number(mode + 1), short(m, 6), short(p, 6), percent(p / m - 1) if m else short(np.nan), short(r, 3))
        for mode, m, p, r in zip(
            samples.experiment.numbers,
            samples.measured[:, 0],
            samples.predicted[:, 0],
            samples.residuals[:, 0],
            strict=True,
        )
    ]
    return table(["mode", f"{what} measured", _predicted(samples), "difference [%]", "residual [σ]"], rows, 60)


def static_test(drawing: Drawing, fit: Fit, samples: Samples) -> Html:
    assert isinstance(samples.experiment, StaticTest)
    loads = _loads(fit, samples.experiment)
    what = with_unit(samples.channel, samples.unit)
    rows = []
    for case in range(samples.experiment.cases):
        for i, entry in enumerate(samples.entries):
            numbers = (samples.measured[case, i], samples.predicted[case, i], samples.residuals[case, i])
            name = [entry] if entry else []
            rows.append(
                (
                    Number(case + 1),
                    *(short(x[case]) for x in loads.values()),
                    *name,
                    *(short(x, d) for x, d in zip(numbers, (6, 6, 3), strict=True)),
                )
            )
    entry_title = ["component"] if samples.entries[0] else []
    head = ["case", *loads, *entry_title, f"{what} measured", _predicted(samples), "residual [σ]"]
    shown = table(head, rows, 60)
    return join([_over_cases(drawing, samples, loads), shown]) if samples.experiment.cases >= _FEWEST else shown


def _predicted(samples: Samples) -> str:
    return "predicted" if samples.held_out else "fit"


def _loads(fit: Fit, test: StaticTest) -> dict[str, np.ndarray]:
    """By name and unit the loads that are one number in each case."""
    found = {}
    for key, values in test.loads.items():
        if values.ndim == 1:
            path = tuple(key.partition("[")[0].split("."))
            found[with_unit(key, channel_units.of_parameter(fit.setup.system, path))] = np.asarray(values)
    return found


def _over_cases(drawing: Drawing, samples: Samples, loads: dict[str, np.ndarray]) -> Html:
    cases = len(samples.measured)
    name, x = next(iter(loads.items())) if len(loads) == 1 else ("case", np.arange(1.0, cases + 1))
    shown = min(len(samples.entries), _ENTRIES)
    columns = min(shown, 3)
    with style():
        whole = new_figure(8.4 if columns > 1 else 4.6, 2.5 * -(-shown // columns))
        for i in range(shown):
            axes = whole.add_subplot(-(-shown // columns), columns, i + 1)
            order = np.argsort(x)
            color = HELD_OUT if samples.held_out else FIT
            axes.plot(x[order], samples.predicted[order, i], color=color, label=_predicted(samples))
            dots(axes, x, samples.measured[:, i], size=4.5, color=DATA, label="data")
            axes.set_xlabel(label(name))
            axes.set_title(label(f"{samples.channel} {samples.entries[i]}" + f" [{samples.unit}]" * bool(samples.unit)))
            if i == 0:
                axes.legend(loc="best", handlelength=1.2)
        picture = drawing.svg(whole, f"data and fit of {samples.title}")
    more = f" Of {len(samples.entries)} components the first {_ENTRIES} are drawn." * (len(samples.entries) > _ENTRIES)
    return figure(picture, f"Dots: data; line: {_predicted(samples)}.{more}")
