"""Plots show the numbers that they are of, with names and units."""

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest

import difmbs as mbs
from difmbs.plots.curves import amplitudes
from difmbs.plots.style import dots, style

from ..zoo import fits, models

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def solution():
    return mbs.simulate(models.four_bar(), t1=0.2, dt=1e-3)


def test_outputs_have_a_panel_for_each_unit(solution):
    axes = solution.plot("crank.rotation", "rocker.rotation", "crank.position")
    assert [x.get_ylabel() for x in axes] == ["[rad]", "crank.position [m]"]
    first = axes[0].get_lines()[0]
    np.testing.assert_array_equal(first.get_ydata(), solution["crank.rotation"])
    # z is zero at all times in the plane.
    labels = [line.get_label() for line in axes[1].get_lines()]
    assert labels == ["crank.position.x", "crank.position.y"]
    assert axes[-1].get_xlabel() == "time [s]"


def test_runs_lie_on_top_of_each_other(solution):
    axes = solution.plot("crank.rotation", label="first")
    again = solution.plot("crank.rotation", ax=axes, label="second")
    assert again is axes
    assert [line.get_label() for line in axes.get_lines()] == ["first", "second"]
    assert axes.get_ylabel() == "crank.rotation [rad]"


def test_energies_residuals_phases_and_spectra(solution):
    energy = solution.plot_energy()
    assert [line.get_label() for line in energy.get_lines()] == ["kinetic", "potential", "sum", "work put in"]
    total = energy.get_lines()[2].get_ydata()
    np.testing.assert_allclose(total, total[0], atol=1e-6 * np.ptp(energy.get_lines()[0].get_ydata()))
    residuals = solution.plot_residuals()
    assert np.nanmax(residuals.get_lines()[1].get_ydata()) < 1e-10
    phase = solution.plot_phase("crank.rotation", "rocker.rotation")
    assert (phase.get_xlabel(), phase.get_ylabel()) == ("crank.rotation [rad]", "rocker.rotation [rad]")
    np.testing.assert_array_equal(phase.get_lines()[0].get_xdata(), solution["crank.rotation"])
    spectrum = solution.plot_spectrum("crank.rotation")
    assert spectrum.get_ylabel() == "amplitude of crank.rotation [rad]"


def test_amplitudes_are_those_of_sines():
    t = np.linspace(0, 4, 801)
    frequencies, found = amplitudes(t, 3 + 0.5 * np.sin(2 * np.pi * 10 * t) + 0.1 * np.cos(2 * np.pi * 25 * t))
    for frequency, size in ((10, 0.5), (25, 0.1)):
        assert found[np.argmin(np.abs(frequencies - frequency))] == pytest.approx(size, rel=0.02)
    with pytest.raises(mbs.ParameterError, match="needs 8 samples"):
        amplitudes(t[:5], t[:5])


def test_the_steps_of_a_run_are_those_it_made():
    system = models.oscillator()
    steps = mbs.step_sizes(system, t1=2.0)
    assert len(steps.sizes) == int(mbs.simulate(system, t1=2.0).stats["steps"])
    np.testing.assert_allclose(steps.times[1:], steps.times[:-1] + steps.sizes[:-1])
    assert steps.times[-1] + steps.sizes[-1] == pytest.approx(2.0)
    fixed = mbs.step_sizes(system, t1=1.0, dt=0.013)
    assert len(fixed.sizes) == int(mbs.simulate(system, t1=1.0, dt=0.013).stats["steps"])
    np.testing.assert_allclose(fixed.sizes[:-1], 0.013)
    assert np.sum(fixed.sizes) == pytest.approx(1.0)
    axes = steps.plot()
    np.testing.assert_array_equal(axes.get_lines()[0].get_ydata(), steps.sizes)


def test_fits_and_records_show_data_and_fit():
    fit = fits.identify([fits.experiment(fits.noisy())], fits.unknowns())
    (channel,) = list(fit.experiments[0].channels)[:1]
    axes = fit.plot()
    assert axes.get_legend_handles_labels()[1] == [f"{channel}, fit", f"{channel}, measured"]
    np.testing.assert_array_equal(axes.get_lines()[-1].get_ydata(), np.ravel(fit.predicted[0][channel]))
    assert fit.experiments[0].plot(channel).get_xlabel() == "time [s]"
    with pytest.raises(mbs.ParameterError, match="there is no channel 'z'"):
        fit.plot("z")


def test_one_of_many_is_asked_for_by_its_number():
    model = mbs.Model(gravity=(0, -9.81, 0))
    beads = model.add("beads", mbs.MassPoint2D([1.0, 2.0, 3.0]), position=[(1, 0), (2, 0), (3, 0)])
    model.add("springs", mbs.SpringDamper(1.0, [10.0, 20.0]), between=(beads[[0, 1]], beads[[1, 2]]))
    solution = mbs.simulate(model.assemble(), t1=0.1, dt=1e-2)
    np.testing.assert_array_equal(solution["beads.position[2]"], solution["beads.position"][:, 2])
    np.testing.assert_array_equal(solution["beads.position[2].x"], solution["beads.position"][:, 2, 0])
    axes = solution.plot("beads.position[1].y", "springs.distance[0]")
    assert axes.get_ylabel() == "[m]"
    made = mbs.animate(solution, values=["springs.force_local[1]"], trails=["beads"])
    assert made.frames == 101
    with pytest.raises(mbs.ParameterError, match="has instances 0 to 2"):
        solution["beads.position[3]"]


def test_what_cannot_be_plotted_is_said(solution):
    with pytest.raises(mbs.ParameterError, match="has several numbers"):
        solution.plot_spectrum("crank.position")
    with pytest.raises(mbs.ParameterError, match="there are 2 units"):
        solution.plot("crank.rotation", "crank.position", ax=plt.subplots(3)[1])
    with pytest.raises(mbs.ParameterError, match="plot takes names"):
        solution.plot(["crank.rotation"])
    with pytest.raises(mbs.ParameterError, match="ax must be axes of matplotlib"):
        solution.plot("crank.rotation", ax=3)
    with pytest.raises(mbs.ParameterError, match="no output 'rotatoin'"):
        solution.plot("crank.rotatoin")


@pytest.mark.parametrize("count", [1, 50, 3000])
def test_dots_are_seen_in_pixels(count):
    figure, axes = plt.subplots()
    x = np.linspace(0.0, 1.0, count)
    with style():
        dots(axes, x, x**2, "#d1495b")
    figure.canvas.draw()
    picture = np.asarray(figure.canvas.buffer_rgba()).astype(int)
    red = np.sum((picture[..., 0] - picture[..., 1]) > 60)
    assert red > 5 * min(count, 300)
