"""Slips that a programmer could make in difmbs, one at a time: `mutation_check.py` asks whether the tests notice.

They were chosen before it was known which of them would be noticed. Each changes what the library does: none is
another way to write the same.
"""

from typing import NamedTuple


class Fault(NamedTuple):
    """`old`, which occurs once in `file`, becomes `new`; `tests`: which files of tests, or single ones in them, should
    notice it first."""

    name: str
    file: str
    old: str
    new: str
    tests: str


BODIES = (
    Fault(
        "sign of the gyroscopic torque",
        "elements/bodies/rigid_body.py",
        "-cross(omega, multiply(self.inertia_tensor(), omega))",
        "cross(omega, multiply(self.inertia_tensor(), omega))",
        "references::test_symmetric_top_precesses_as_in_closed_form",
    ),
    Fault(
        "arm of the centre of mass in the local frame",
        "elements/bodies/rigid_body.py",
        "jnp.concatenate([velocity + cross(angular_velocity, arm), turn",
        "jnp.concatenate([velocity + cross(angular_velocity, self.center_of_mass), turn",
        "bodies laws",
    ),
    Fault(
        "no centripetal acceleration of points",
        "elements/bodies/rigid_body.py",
        "cross(a[3:], arm) + cross(v[3:], cross(v[3:], arm))",
        "cross(a[3:], arm)",
        "bodies joints",
    ),
    Fault(
        "velocity of the centre of mass turned the wrong way",
        "elements/bodies/rigid_body_2d.py",
        "turned = jnp.stack([-arm[1], arm[0]])",
        "turned = jnp.stack([arm[1], -arm[0]])",
        "bodies laws",
    ),
    Fault(
        "direction of a slider without unit length",
        "elements/bodies/mass_1d.py",
        "return length_and_direction(self.axis)[1]",
        "return self.axis",
        "bodies::test_the_coordinate_of_a_slider_is_the_distance_moved_however_long_its_axis_is",
    ),
    Fault(
        "half of the twist",
        "elements/rotations.py",
        "return 2 * jnp.arctan2(",
        "return jnp.arctan2(",
        "jacobians",
    ),
    Fault(
        "second derivative of a length",
        "elements/rotations.py",
        "-inverse * inverse * dlength",
        "-inverse * dlength",
        "jacobians constraints laws",
    ),
    Fault(
        "arm of a marker on the ground",
        "elements/ports.py",
        "arm = (p - pose.p)[:2] if body.velocities else jnp.zeros(2, p.dtype)",
        "arm = (p - pose.p)[:2]",
        "laws::test_torques_are_about_the_centre_of_mass_and_on_ground_about_the_marker",
    ),
)

CONNECTORS = (
    Fault(
        "sign of the neutral velocity of a damper",
        "elements/connectors/spring_damper.py",
        "jnp.sum(direction * velocity) - self.velocity_offset",
        "jnp.sum(direction * velocity) + self.velocity_offset",
        "jacobians",
    ),
    Fault(
        "sign of the energy of a constant force",
        "elements/connectors/spring_damper.py",
        "** 2 + self.force * length",
        "** 2 - self.force * length",
        "contract::test_force_is_minus_the_slope_of_the_energy",
    ),
    Fault(
        "gate_damper ignored",
        "elements/connectors/linear_spring_damper.py",
        "damping = self.damping * (gate if self.gate_damper else 1)",
        "damping = self.damping * gate",
        "laws references",
    ),
    Fault(
        "sign of the coupling torque of marker 1",
        "elements/connectors/linear_spring_damper.py",
        "(-_turn(config[1].arm, force) - coupling)",
        "(-_turn(config[1].arm, force) + coupling)",
        "laws::test_rotational_coupling",
    ),
    Fault(
        "arm of the other marker",
        "elements/connectors/linear_spring_damper.py",
        "- _turn(arms[i], f))",
        "- _turn(arms[0], f))",
        "laws references jacobians",
    ),
    Fault(
        "torsional energy without 1/2",
        "elements/connectors/rotational_spring_damper.py",
        "else 0.5 * self.stiffness * angle**2",
        "else self.stiffness * angle**2",
        "contract::test_force_is_minus_the_slope_of_the_energy",
    ),
    Fault(
        "softened potential with the wrong sign",
        "elements/connectors/connector_gravity.py",
        "below = -1 / safe - (jnp.pi / 4",
        "below = -1 / safe + (jnp.pi / 4",
        "laws references",
    ),
    Fault(
        "derivative of softened attraction without a factor 2",
        "elements/connectors/connector_gravity.py",
        "(dsquare + 2 * below * dbelow)",
        "(dsquare + below * dbelow)",
        "contract::test_outputs_have_the_same_gradient_forwards_backwards_and_by_differences jacobians singular",
    ),
    Fault(
        "each pair counted twice in the energy",
        "elements/connectors/all_pairs_gravity.py",
        "return 0.5 * jnp.sum(pairs",
        "return jnp.sum(pairs",
        "laws references health",
    ),
    Fault(
        "factor on the other coordinate",
        "elements/connectors/coordinate_constraint.py",
        "self.factor * q1 - q0 -",
        "q1 - self.factor * q0 -",
        "joints::test_coordinate_constraint_equals_the_formulas",
    ),
    Fault(
        "rate of a square without a factor 2",
        "elements/connectors/coordinate_vector_constraint.py",
        "quadratic * (2 * q * q_t if",
        "quadratic * (q * q_t if",
        "constraints joints",
    ),
    Fault(
        "sign of the residual of a hinge",
        "elements/connectors/revolute_joint_2d.py",
        "return config[1].p - config[0].p",
        "return config[0].p - config[1].p",
        "joints::test_joint_equals_the_formulas",
    ),
    Fault(
        "load turned by the transposed matrix",
        "elements/connectors/loads.py",
        "return multiply(config[0].R, vector)",
        "return multiply(config[0].R.T, vector)",
        "laws bodies references",
    ),
    Fault(
        "weights of a monotone cubic the wrong way round",
        "elements/connectors/curve.py",
        "a, b = 2 * widths[1:] + widths[:-1], widths[1:] + 2 * widths[:-1]",
        "b, a = 2 * widths[1:] + widths[:-1], widths[1:] + 2 * widths[:-1]",
        "laws::test_tabular_springs_between_and_outside_their_points",
    ),
    Fault(
        "extrapolation with the slope of the other end",
        "elements/connectors/curve.py",
        "jnp.maximum(x - knots[-1], 0) * ends[1]",
        "jnp.maximum(x - knots[-1], 0) * ends[0]",
        "laws references",
    ),
    Fault(
        "smooth function of time without the width of its interval",
        "elements/piecewise.py",
        "return start + s * s * (3 - 2 * s) * rise + width * cubic",
        "return start + s * s * (3 - 2 * s) * rise + cubic",
        "piecewise::test_smooth_curves_are_monotone_cubics",
    ),
)

SYSTEM = (
    Fault(
        "coordinates found where the velocities begin",
        "system/groups.py",
        "return self.first_q + np.asarray(rows)",
        "return self.first_v + np.asarray(rows)",
        "model::test_coordinates_by_name_are_those_of_the_body",
    ),
    Fault(
        "order of replaced rows not inverted",
        "system/system.py",
        "return Index(np.argsort(rows)).take(values)",
        "return Index(rows).take(values)",
        "model::test_each_name_keeps_its_parameters_whichever_was_added_first",
    ),
    Fault(
        "measured parameters in the order of groups",
        "modelling/assembly.py",
        ".concatenate(rows)[order]",
        ".concatenate(rows)",
        "laws::test_what_is_measured_belongs_to_its_own_instance_whatever_its_markers_are_on",
    ),
    Fault(
        "violation of a constraint that is switched off",
        "system/system.py",
        "positions.append(local.each(lambda x: x.switched(x.position_residual(t))).reshape(-1))",
        "positions.append(local.each(lambda x: x.position_residual(t)).reshape(-1))",
        "events::test_a_rod_that_breaks events::test_a_joint_that_is_switched_on_far_from_where_it_is_met health",
    ),
    Fault(
        "energy of a spring that is switched off",
        "system/system.py",
        "jnp.sum(of_group if group.switch is None else jnp.where(local.on, of_group, 0))",
        "jnp.sum(of_group)",
        "events::test_forces_and_energy_are_switched_together",
    ),
    Fault(
        "no acceleration of what is prescribed",
        "system/groups.py",
        "rates = (clock, self.at(self.q, v).config_rate(), change)",
        "rates = (0 * clock, self.at(self.q, v).config_rate(), change)",
        "joints::test_prescribed_motion constraints::test_levels_are_the_time_derivatives_of_each_other",
    ),
    Fault(
        "tied parameters from the body of marker 0",
        "system/groups.py",
        "values = [getattr(bodies[marker], of_body)",
        "values = [getattr(bodies[0], of_body)",
        "model::test_gravity_reads_the_bodies_masses",
    ),
)

LINEAR_ALGEBRA = (
    Fault(
        "transposed equations solved as they are",
        "linalg/block_sparse.py",
        "inverses, upper, lower = jax.tree.map(lambda x: jnp.swapaxes(x, -1, -2), factors)\n"
        "        return self._swept(inverses, upper, lower, b)",
        "return self.solve(factors, b)",
        "linalg::test_block_elimination_is_that_of_the_dense_matrix",
    ),
    Fault(
        "larger eliminations on GPUs without updates",
        "linalg/wide_elimination.py",
        "matrix.at[here.target].add(-change",
        "matrix.at[here.target].add(0 * change",
        "linalg::test_larger_matrices_on_gpus",
    ),
    Fault(
        "programs for GPUs as for CPUs",
        "jaxtools/platforms.py",
        'wanted = "cpu" not in platforms',
        "wanted = False",
        "platforms::test_each_machine_gets_its_own_program",
    ),
    Fault(
        "refinement of transposed equations with the matrix itself",
        "dynamics/matrix_layout.py",
        "return jax.linear_transpose(functools.partial(self.layout.product, self.matrix), x)(x)[0]",
        "return self.layout.product(self.matrix, x)",
        "redundant::test_gradients_forwards_backwards_and_by_differences",
    ),
    Fault(
        "dead centres between samples not looked for",
        "dynamics/constraint_analysis.py",
        "return regular & ~_turns(blocks) if equations == velocities else regular",
        "return regular",
        "elimination::test_a_crank_does_not_carry_its_rod_wherever_it_starts",
    ),
    Fault(
        "velocities not brought back onto constraints",
        "dynamics/projection.py",
        "return ProjectionPlan((POSITION, VELOCITY)).follow(system, t, q, v)[0] if",
        "return ProjectionPlan((POSITION,)).follow(system, t, q, v)[0] if",
        "motion_invariants::test_what_settles_meets_constraints_on_both_levels",
    ),
    Fault(
        "velocities of explicit steps not brought back",
        "solvers/runge_kutta_step.py",
        "np.asarray([ACCELERATION] * count + [POSITION, VELOCITY])",
        "np.asarray([ACCELERATION] * count + [POSITION, POSITION])",
        "motion_invariants::test_constraints_are_met_over_1e5_steps",
    ),
    Fault(
        "starts that violate constraints pass",
        "dynamics/projection.py",
        "small = jnp.finfo(v.dtype).eps ** 0.5",
        "small = jnp.finfo(v.dtype).eps ** 0.25",
        "constrained_failures::test_starts_are_met_to_more_than_single_precision",
    ),
    Fault(
        "starts corrected once",
        "dynamics/projection.py",
        "ROUNDS = (POSITION,) * 10 + (VELOCITY,) * 2",
        "ROUNDS = (POSITION,) * 1 + (VELOCITY,) * 2",
        "motion_invariants::test_starts_far_off_are_brought_onto_constraints",
    ),
    Fault(
        "drift from constraints a hundred times larger",
        "dynamics/projection.py",
        "DRIFT = 1e-4",
        "DRIFT = 1e-2",
        "constrained_failures",
    ),
)

SOLVERS = (
    Fault(
        "beta of the generalized-alpha method without the square",
        "solvers/newmark.py",
        "0.25 * (gamma + 0.5) ** 2",
        "0.25 * (gamma + 0.5)",
        "motion_orders motion_references",
    ),
    Fault(
        "a term of the error of a step",
        "solvers/newmark.py",
        "(1 / 6 - c.beta - c.shift / 2) * change + left / 2",
        "(1 / 6 - c.beta) * change + left / 2",
        "motion_orders::test_the_error_of_a_step_is_how_far_it_is_off",
    ),
    Fault(
        "sign of the first drift of accelerations",
        "solvers/newmark.py",
        "return NewmarkState(q, v, own, solver.coefficients.shift * drift,",
        "return NewmarkState(q, v, own, -solver.coefficients.shift * drift,",
        "motion_orders",
    ),
    Fault(
        "first drift held constant in derivatives",
        "solvers/newmark.py",
        "return NewmarkState(q, v, own, solver.coefficients.shift * drift,",
        "return NewmarkState(q, v, own, solver.coefficients.shift * lax.stop_gradient(drift),",
        "motion_gradients::test_gradients_forwards_backwards_and_by_differences",
    ),
    Fault(
        "looser convergence of velocities",
        "solvers/newmark.py",
        "(eps**0.7 * jnp.maximum(v, h * now)",
        "(eps**0.35 * jnp.maximum(v, h * now)",
        "motion_invariants::test_long_steps_are_solved_to_rounding",
    ),
    Fault(
        "interpolation with the wrong sign of a slope",
        "solvers/newmark_step.py",
        "s * (1 - s) * h * ((1 - s) * f0 - s * f1)",
        "s * (1 - s) * h * ((1 - s) * f0 + s * f1)",
        "simulate::test_a_run_ends_where_it_was_asked_to_whatever_the_size_of_its_steps",
    ),
    Fault(
        "stages at the very ends of steps",
        "solvers/stages.py",
        "little = 8 * jnp.finfo",
        "little = 0 * jnp.finfo",
        "piecewise",
    ),
    Fault(
        "derivative of implicit stages without the step size",
        "solvers/stages.py",
        "jnp.eye(y.size, dtype=y.dtype) - h * a[i, i] * jacobian",
        "jnp.eye(y.size, dtype=y.dtype) - a[i, i] * jacobian",
        "simulate::test_gradients_forwards_backwards_and_by_differences motion_gradients",
    ),
)

RUNS = (
    Fault(
        "last step not cut off",
        "simulation/fixed_steps.py",
        "h = jnp.where(k == len(times) - 2, jnp.asarray(rest, dtype), h)",
        "h = jnp.where(k == len(times) - 1, jnp.asarray(rest, dtype), h)",
        "simulate::test_a_run_ends_where_it_was_asked_to_whatever_the_size_of_its_steps",
    ),
    Fault(
        "derivative without the step of the last output",
        "simulation/fixed_steps.py",
        "[jnp.maximum(reached - 1, 0)] + 1, 0)",
        "[jnp.maximum(reached - 1, 0)], 0)",
        "simulate::test_gradients_forwards_backwards_and_by_differences",
    ),
    Fault(
        "steps as long as the error allows",
        "simulation/adaptive_steps.py",
        "end = jnp.minimum(s.tnext, t + s.longest)",
        "end = s.tnext",
        "motion_invariants::test_looking_around_on_the_way_to_a_start_finds_what_it_finds_alone "
        "motion_gradients::test_derivatives_at_rest_with_adaptive_steps",
    ),
    Fault(
        "default tolerances a hundred times larger",
        "simulation/arguments.py",
        '"float64": (1e-8, 1e-10)',
        '"float64": (1e-6, 1e-8)',
        "simulate::test_without_tolerances_seven_digits_are_right",
    ),
    Fault(
        "last state of a stored segment not computed again",
        "simulation/recorded_run.py",
        "jnp.minimum(first + count, self.time_loop.room)",
        "jnp.minimum(first + count - 1, self.time_loop.room)",
        "simulate::test_states_that_were_not_stored_are_computed_again",
    ),
    Fault(
        "derivatives of outputs that were not reached",
        "simulation/step_replay.py",
        "row = jnp.where(j < accepted.reached, doutput, jnp.nan)",
        "row = doutput",
        "simulate::test_derivatives_are_known_exactly_where_values_are",
    ),
    Fault(
        "moments of all times counted backwards",
        "simulation/step_replay.py",
        "dp, more), of_moments.at[number].set(0)",
        "dp, more), of_moments",
        "events::test_of_an_event_that_happens_again_and_again_the_last_moment_counts",
    ),
    Fault(
        "multipliers held constant in derivatives",
        "simulation/simulate.py",
        "(t, trajectory.q, trajectory.v, trajectory.u)",
        "(t, trajectory.q, trajectory.v, jax.lax.stop_gradient(trajectory.u))",
        "constraints::test_gradient_of_a_multiplier "
        "motion_gradients::test_gradients_forwards_backwards_and_by_differences",
    ),
)

EVENTS = (
    Fault(
        "events cross zero the other way",
        "simulation/event_search.py",
        "[1 if not callable(e.when) else e.direction for e in",
        "[1 if not callable(e.when) else -e.direction for e in",
        "events::test_a_bouncing_ball_and_a_batch_of_them",
    ),
    Fault(
        "state behind an event that moves not carried back",
        "simulation/event_search.py",
        "    core = core - shift * derivative(held(moment), held(core), held(following))\n",
        "",
        "events::test_two_elastic_balls_exchange_their_lines",
    ),
    Fault(
        "the end of a run before other events",
        "simulation/event_search.py",
        "jnp.where(self.due, 2 - stops.astype(int), 0)",
        "jnp.where(self.due, 1 + stops.astype(int), 0)",
        "events::test_events_at_the_same_moment_all_happen",
    ),
    Fault(
        "switches that are set already set again",
        "simulation/event_search.py",
        "return more | jnp.any(_set(system) != system.on[None], axis=1)",
        "return jnp.ones_like(more)",
        "events",
    ),
)

ANALYSIS = (
    Fault(
        "equilibria with constraints that contradict each other",
        "analysis/statics.py",
        "_MET = 1e-6",
        "_MET = 1e-3",
        "statics::test_of_an_equilibrium_constraints_are_met_to_six_digits",
    ),
    Fault(
        "constraints that are switched off count as holding",
        "analysis/equilibrium_search.py",
        "on = True if group.switch is None else self.system.is_on(group)",
        "on = True",
        "statics::test_constraints_that_are_switched_off_hold_nothing",
    ),
    Fault(
        "any multipliers of redundant constraints at rest",
        "analysis/statics.py",
        "u = jnp.concatenate([u[:count], jnp.linalg.pinv(jacobian.T, rtol=RANK) @ (jacobian.T @ u[count:])])",
        "u = jnp.concatenate([u[:count], u[count:]])",
        "statics::test_redundant_constraints_share_the_load",
    ),
    Fault(
        "derivative of damped eigenvalues without the damping",
        "linalg/constrained_eigen.py",
        "(2 * s[:, None] * (x @ m.T) + x @ d.T), axis=-1))\n    # What is free",
        "(2 * s[:, None] * (x @ m.T)), axis=-1))\n    # What is free",
        "modes::test_gradients_forwards_backwards_and_by_differences",
    ),
    Fault(
        "left forces of constraints not conjugated",
        "linalg/constrained_eigen.py",
        "(x @ g.T) * eta.conj()",
        "(x @ g.T) * eta",
        "modes::test_gradients_forwards_backwards_and_by_differences",
    ),
    Fault(
        "stiffness without the forces of constraints",
        "analysis/linearize.py",
        "return _constraint_forces(here, t, moved, v, multipliers) - here.applied_forces(t, moved, v)",
        "return -here.applied_forces(t, moved, v)",
        "modes::test_pendulum",
    ),
    Fault(
        "work of moving constraints forgotten",
        "simulation/health.py",
        "power = v @ (here.applied_forces(t, q, v) - reaction) + rate",
        "power = v @ here.applied_forces(t, q, v) + rate",
        "health::test_constraints_that_move_do_work_that_is_accounted_for",
    ),
)

IDENTIFICATION = (
    Fault(
        "all unknowns taken off the degrees of freedom",
        "identification/identify.py",
        "counted - taken_up(problem, state, free)[0],",
        "counted - len(posed.unknowns.names),",
        "identification::test_what_tells_something_is_counted_and_what_follows_from_it_is_taken_off",
    ),
    Fault(
        "priors not counted in the degrees of freedom",
        "identification/identify.py",
        "counted = sum(r.count for r in residuals) + int(np.sum(np.asarray(problem.prior_weight) > 0))",
        "counted = sum(r.count for r in residuals)",
        "identification::test_what_tells_something_is_counted_and_what_follows_from_it_is_taken_off",
    ),
    Fault(
        "factor of standard errors without the root",
        "identification/fit.py",
        "return float(np.sqrt(self.chi2 / self.degrees_of_freedom))",
        "return float(self.chi2 / self.degrees_of_freedom)",
        "uncertainty report::test_bad_fits_are_not_praised",
    ),
    Fault(
        "weight of an experiment without the root",
        "identification/setup.py",
        "np.sqrt(experiment.weight) / deviation",
        "experiment.weight / deviation",
        "identification::test_what_counts_twice_is_as_noisy_as_before",
    ),
    Fault(
        "estimated noise without what the unknowns take up",
        "identification/noise.py",
        "max(size(rows) / np.sqrt(share), 1e-14 * noise[n])",
        "max(size(rows), 1e-14 * noise[n])",
        "identification::test_noise_is_estimated identification::test_intervals_hold_as_often_as_they_say",
    ),
    Fault(
        "median of sizes divided instead of multiplied",
        "identification/uncertainty.py",
        "NORMAL = 1.4826",
        "NORMAL = 0.6745",
        "identification::test_without_outliers_robust_losses_find_the_same_noise",
    ),
    Fault(
        "priors take up samples",
        "identification/noise.py",
        "return kept.size, float(kept.size - from_priors)",
        "return kept.size, float(kept.size)",
        "identification::test_samples_take_up_less_where_priors_are_firm",
    ),
    Fault(
        "offset of tied parameters missing in the result",
        "search/unknowns.py",
        "chosen = self.factor * chosen + self.offset",
        "chosen = self.factor * chosen",
        "identification::test_ties_and_fixed_values",
    ),
    Fault(
        "profile intervals a hundred times looser",
        "identification/profile_likelihood.py",
        "abs(increase - wanted) < 1e-3 * abs(wanted)",
        "abs(increase - wanted) < 1e-1 * abs(wanted)",
        "identification::test_profiles_agree_with_the_linearization_where_it_holds "
        "identification::test_a_profile_ends_at_a_bound_or_where_it_must",
    ),
    Fault(
        "normal quantile where the noise was estimated",
        "identification/fit.py",
        "special.stdtrit(self.degrees_of_freedom, tail) if self.setup.estimated else special.ndtri(tail)",
        "special.ndtri(tail)",
        "identification::test_noise_is_estimated",
    ),
    Fault(
        "whiteness of one side",
        "identification/uncertainty.py",
        "float(2 * special.ndtr(",
        "float(special.ndtr(",
        "uncertainty::test_probabilities_of_noise_are_uniform",
    ),
    Fault(
        "upper bounds lean the wrong way",
        "search/levenberg_marquardt.py",
        "((at.z >= problem.upper) & (gradient < 0))",
        "((at.z >= problem.upper) & (gradient > 0))",
        "identification::test_an_unknown_that_starts_at_a_bound_leaves_it_for_a_better_place",
    ),
    Fault(
        "samples before the shortest delay count",
        "identification/predictions.py",
        "begun = np.asarray(self.times) - span[1] >= self.t0",
        "begun = np.asarray(self.times) - span[0] >= self.t0",
        "identification::test_two_samples_of_a_late_sensor identification::test_gain_bias_and_delay_of_the_sensor",
    ),
    Fault(
        "end of a window left out",
        "identification/channels.py",
        "kept = (times >= first) & (times <= last)",
        "kept = (times >= first) & (times < last)",
        "fit_files::test_a_part_of_a_record",
    ),
    Fault(
        "outputs of pieces at times of their own",
        "identification/segments.py",
        "t = begin + jnp.asarray(cuts.outputs, at.q.dtype)",
        "t = jnp.asarray(cuts.outputs, at.q.dtype)",
        "shooting::test_outputs_know_what_time_it_is_in_a_later_segment",
    ),
    Fault(
        "time steps a hundred times too long for vibrations",
        "identification/time_scale.py",
        "_TURN = 0.25",
        "_TURN = 25.0",
        "recorded_inputs::test_a_fast_vibration_divides_the_sampling",
    ),
    Fault(
        "deviation of a prior not checked",
        "search/unknowns.py",
        " or not np.all(np.isfinite(prior)) or not prior[1] > 0:",
        " or not np.all(np.isfinite(prior)):",
        "identification::test_wrong_unknowns_are_refused",
    ),
    Fault(
        "revolutions per minute without the turn",
        "core/units.py",
        '"rpm": _TURN / 60',
        '"rpm": 1 / 60',
        "tables::test_the_same_in_two_units",
    ),
)

DESIGN = (
    Fault(
        "mean over time by rectangles",
        "design/objectives.py",
        "(values[1:] + values[:-1]), axis=0) / (t[-1] - t[0])",
        "(values[1:] + values[1:]), axis=0) / (t[-1] - t[0])",
        "design::test_quantities",
    ),
    Fault(
        "lower limits look at the first number",
        "design/smooth_program.py",
        "tops = np.argmax(entries[k], axis=1) + row * np.arange(number)",
        "tops = np.argmax(entries[k], axis=1)",
        "design::test_lower_limits_hold_for_entries_behind_the_first",
    ),
    Fault(
        "resumed designs do not know their upper bounds",
        "design/evaluation_log.py",
        "numbers = task.given, unknowns.start, unknowns.lower, unknowns.upper, unknowns.logarithmic",
        "numbers = task.given, unknowns.start, unknowns.lower, unknowns.logarithmic",
        "design::test_tasks_that_differ_in_anything_are_told_apart",
    ),
)

FILES = (
    Fault(
        "resumed fits do not check what they belong to",
        "files/checkpoint.py",
        'rest["of"] == of',
        '"of" in rest',
        "identification::test_an_interrupted_fit_goes_on_to_the_same_result",
    ),
    Fault(
        "row before the one with a wrong time",
        "files/tables.py",
        "row {first + i + 1}: time",
        "row {first + i}: time",
        "tables::test_bad_tables",
    ),
    Fault(
        "folders whose names begin alike",
        "files/reading.py",
        "not target.is_relative_to(home)",
        "not str(target).startswith(str(home))",
        "tables::test_files_beside_a_file",
    ),
    Fault(
        "output times lost to rounding",
        "files/simulation_settings.py",
        "count = int((self.t_end - self.t_start) / self.save_dt * (1 + 1e-12))",
        "count = int((self.t_end - self.t_start) / self.save_dt)",
        "files::test_the_end_is_an_output_if_a_whole_number_of_steps_leads_there",
    ),
    Fault(
        "scale of times beside the unit of another table",
        "files/recordings.py",
        'left_out = {"time_scale", "time_unit"} if own_scale else set()',
        "left_out = set()",
        "fit_files::test_times_in_milliseconds",
    ),
    Fault(
        "damaged programs of the cache used",
        "jaxtools/program_cache.py",
        "if check == _checksum(value):",
        "if value:",
        "cache::test_half_a_file_is_as_good_as_none",
    ),
    Fault(
        "tensors that belong to no body",
        "core/ranges.py",
        "moments[..., 2] > (moments[..., 0] + moments[..., 1])",
        "moments[..., 2] > (moments[..., 1] + moments[..., 2])",
        "bad_input",
    ),
)

PAGES_AND_COMMANDS = (
    Fault(
        "attributes of pages not escaped",
        "core/markup.py",
        '="{html.escape(plain(value))}"',
        '="{plain(value)}"',
        "report::test_texts_and_attributes_come_back_as_they_were",
    ),
    Fault(
        "sign of the residuals of plots",
        "reports/samples.py",
        "weights * (measured - predictions)",
        "weights * (predictions - measured)",
        "report::test_residuals_are_data_less_fit_in_standard_deviations",
    ),
    Fault(
        "exit code of an early end",
        "command/simulate_command.py",
        '(STOPPED, {"error": message}) if message else (0, {})',
        '(0, {"error": message}) if message else (0, {})',
        "commands::test_an_early_stop_keeps_what_was_reached",
    ),
    Fault(
        "exit code of a search that belongs to another file",
        "command/shell.py",
        "        return FAILED_CHECK, _as_options(error)\n",
        "        return BAD_INPUT, _as_options(error)\n",
        "identify_command::test_identify",
    ),
    Fault(
        "numbers in JSON that are not finite",
        "command/shell.py",
        "return None if isinstance(value, float) and not math.isfinite(value) else value",
        "return value",
        "commands::test_json_has_no_nan",
    ),
    Fault(
        "missing samples counted",
        "command/identify_command.py",
        "int(np.sum(np.isfinite(data)))",
        "int(data.size)",
        "identify_command::test_check_says_what_kind_of_file_it_is identify_command::test_identify",
    ),
)

MECHANISMS = (
    Fault(
        "speed of a slide without the turning of its frame",
        "elements/connectors/joint.py",
        "multiply(first.R.T, speed - cross(twist0.w, apart))",
        "multiply(first.R.T, speed)",
        "constraints",
    ),
    Fault(
        "axes of a hinge that drift apart the other way",
        "elements/connectors/joint.py",
        "multiply(own.T, cross(w1 - w0, other))",
        "multiply(own.T, cross(w0 - w1, other))",
        "constraints",
    ),
    Fault(
        "torque of a joint about the wrong point",
        "elements/connectors/joint.py",
        "return twist.v, twist.w\n",
        "return twist.v, -twist.w\n",
        "joints docs",
    ),
    Fault(
        "sign of what a motor gives",
        "elements/connectors/motor.py",
        "-multiplier[0])",
        "multiplier[0])",
        "docs",
    ),
    Fault(
        "Stribeck's curve without the square",
        "elements/connectors/friction.py",
        "jnp.exp(-((rate / self.stribeck_velocity) ** 2))",
        "jnp.exp(-jnp.abs(rate / self.stribeck_velocity))",
        "laws::test_friction_is_its_formula",
    ),
    Fault(
        "lower stop damped by the speed away from it",
        "elements/connectors/limit_stop.py",
        "self._stop(self.lower - x, -rate)",
        "self._stop(self.lower - x, rate)",
        "laws::test_stops_are_their_formula",
    ),
    Fault(
        "bristles damped by the slip",
        "elements/connectors/lugre_friction.py",
        "self.damping * rate + self.viscous * v",
        "self.damping * v + self.viscous * v",
        "mechanisms::test_stick_slip_is_that_of_the_equations",
    ),
    Fault(
        "twice the energy of a bushing",
        "elements/connectors/bushing.py",
        "return 0.5 * jnp.sum(self.stiffness",
        "return jnp.sum(self.stiffness",
        "contract",
    ),
    Fault(
        "friction of a contact at the sphere's centre",
        "elements/connectors/sphere_plane_contact.py",
        "Wrench(force, cross(contact - second.p, force))",
        "Wrench(force, cross(second.p - contact, force))",
        "mechanisms contract",
    ),
    Fault(
        "a piston that sucks where it should press",
        "elements/connectors/hydraulic_actuator.py",
        "jnp.asarray([-1, 1], rate.dtype)",
        "jnp.asarray([1, -1], rate.dtype)",
        "docs exudyn",
    ),
    Fault(
        "gear with the inverse ratio",
        "elements/connectors/gear.py",
        "self.ratio * second - first",
        "second - self.ratio * first",
        "docs",
    ),
    Fault(
        "controller sampled at the end of the step",
        "solvers/sampled_step.py",
        "self.inner.step(_during(system, t, y)",
        "self.inner.step(_during(system, t + h, y)",
        "control exudyn",
    ),
    Fault(
        "derivative of a step without its controller",
        "solvers/sampled_step.py",
        "self.inner.result(_during(system, t, y)",
        "self.inner.result(system",
        "control",
    ),
    Fault(
        "parameters that follow from others left behind",
        "system/system.py",
        "return changed.with_derived() if values else changed",
        "return changed",
        "derived",
    ),
    Fault(
        "displacements of coordinates from zero instead of the reference",
        "interop/exudyn_connectors.py",
        "law(t, x - apart, *others)",
        "law(t, x, *others)",
        "exudyn",
    ),
    Fault(
        "centre of mass of a link in the joint's frame",
        "interop/urdf.py",
        "place.p + place.R @ self.center",
        "self.center",
        "urdf",
    ),
)

FAULTS = (
    *BODIES,
    *CONNECTORS,
    *MECHANISMS,
    *SYSTEM,
    *LINEAR_ALGEBRA,
    *SOLVERS,
    *RUNS,
    *EVENTS,
    *ANALYSIS,
    *IDENTIFICATION,
    *DESIGN,
    *FILES,
    *PAGES_AND_COMMANDS,
)
