"""Stiffness and damping from a measured drop test: least squares with exact derivatives.

Reads drop_test.csv, prints the parameters with their standard errors, and draws drop_test.png.
"""

from pathlib import Path

import jax
import jax.numpy as jnp
import matplotlib
import numpy as np
import optimistix as optx

jax.config.update("jax_enable_x64", True)

from make_drop_test import drop_test  # noqa: E402

import difmbs as mbs  # noqa: E402

HERE = Path(__file__).parent
NOISE = 1e-3  # m, of the measurement


def main() -> None:
    times, measured = np.loadtxt(HERE / "drop_test.csv", delimiter=",", skiprows=1, unpack=True)
    system = drop_test()
    start = {"spring": {"stiffness": 500.0, "damping": 5.0}}

    def height(theta):
        return mbs.simulate(system, t1=1.5, saveat=times, params=theta, throw=False)["height"]

    def residual(logarithms, _):
        return (height(jax.tree.map(jnp.exp, logarithms)) - measured) / NOISE

    solver = optx.LevenbergMarquardt(rtol=1e-8, atol=1e-8)
    first = jax.tree.map(jnp.log, jax.tree.map(jnp.asarray, start))
    fit = optx.least_squares(residual, solver, first, options={"jac": "fwd"})
    theta = jax.tree.map(jnp.exp, fit.value)

    # Covariance of the estimate: inverse of J'J, with respect to the logarithms.
    jacobian = jax.jacfwd(residual)(fit.value, None)["spring"]
    columns = jnp.stack([jacobian["stiffness"], jacobian["damping"]], axis=1)
    relative = jnp.sqrt(jnp.diag(jnp.linalg.inv(columns.T @ columns)))
    chi_squared = float(jnp.sum(residual(fit.value, None) ** 2)) / (times.size - 2)

    print(f"{'parameter':<18}{'start':>8}{'value':>10}{'+- std':>9}")
    for name, deviation in zip(("stiffness", "damping"), relative, strict=True):
        value = float(theta["spring"][name])
        print(f"spring.{name:<11}{start['spring'][name]:>8.1f}{value:>10.3f}{value * float(deviation):>9.3f}")
    print(f"chi^2 per degree of freedom {chi_squared:.3f}")

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    axes.plot(times, measured, ".", color="0.6", label="measured")
    axes.plot(times, height(jax.tree.map(jnp.asarray, start)), "--", label="start")
    axes.plot(times, height(theta), label="fitted")
    axes.set(xlabel="time [s]", ylabel="height [m]")
    axes.legend()
    figure.savefig("drop_test.png", dpi=120)
    print("drawn: drop_test.png")


if __name__ == "__main__":
    main()
