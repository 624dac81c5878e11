"""What the data can tell: singular values of the sensitivities, and, in words, what they leave undetermined."""

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np
from scipy.linalg import qr

from ..core.reprs import limited

RANK = 1e-7
"""Singular values of sensitivities of unit length that may be errors of the simulation."""

_NOTICED = 1e-6
"""Contribution to a direction that may be nothing but rounding."""


@dataclasses.dataclass(frozen=True)
class Direction:
    """Unknowns that change together without any effect on the data.

    `names` and `weights`: relative changes if `kind` is "product", absolute ones if it is "sum"; `determined`: what the
    data do determine, in words; `remedy`.
    """

    names: tuple[str, ...]
    weights: tuple[float, ...]
    kind: str
    determined: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.determined}. {self.remedy}"


@dataclasses.dataclass(frozen=True)
class Identifiability:
    """Which combinations of the unknowns the data determine. Prints in words.

    `singular_values` of the sensitivities, each unknown's scaled to length 1: 1 for unknowns that act independently;
    `rank`; `directions`: combinations without effect; `without_effect`: unknowns that no sample depends on;
    `condition`: ratio of the largest and the smallest singular value.
    """

    names: tuple[str, ...]
    singular_values: np.ndarray
    rank: int
    directions: tuple[Direction, ...]
    without_effect: tuple[str, ...]
    condition: float
    determined: np.ndarray
    """Whether the data determine each unknown by itself."""

    @property
    def full(self) -> bool:
        return self.rank == len(self.names)

    def __repr__(self) -> str:
        return limited(str(self))

    def __str__(self) -> str:
        lines = [
            f"the data determine {self.rank} of {len(self.names)} unknowns (condition of the scaled sensitivities "
            f"{self.condition:.2g})"
        ]
        lines += [
            f"- '{name}' has no influence on the data. Fix it, or measure something it acts on"
            for name in self.without_effect
        ]
        lines += [f"- {direction}" for direction in self.directions]
        return "\n".join(lines)


def analyse(
    names: Sequence[str],
    R: np.ndarray,
    values: np.ndarray,
    slopes: np.ndarray,
    same: Callable[[np.ndarray], float] | None = None,
) -> Identifiability:
    """From the triangular factor of the Jacobian with respect to z.

    `slopes` are d value / dz; `same(values)` says by how much, relative, predictions at other values differ: it tells
    products from sums, which no derivative can.
    """
    lengths = np.linalg.norm(R, axis=0)
    acting = lengths > RANK * 1e-7 * lengths.max(initial=0)
    scaled = R[:, acting] / lengths[acting]
    singular = np.linalg.svd(scaled, compute_uv=False) if acting.any() else np.zeros(0)
    rank = int(np.sum(singular > RANK))
    null = _sparse_null_space(scaled, rank)
    columns, strong = np.zeros((len(names), null.shape[1])), np.zeros((len(names), null.shape[1]), bool)
    columns[acting] = null / lengths[acting][:, None]
    strong[acting] = np.abs(null) > _NOTICED * np.abs(null).max(axis=0, initial=0)
    directions = tuple(
        _in_words(names, z, noticed, values, slopes, same) for z, noticed in zip(columns.T, strong.T, strict=True)
    )
    involved = np.isin(names, [name for direction in directions for name in direction.names])
    condition = singular[0] / singular[rank - 1] if rank else np.inf
    return Identifiability(
        tuple(names),
        singular,
        rank,
        directions,
        tuple(n for n, a in zip(names, acting, strict=True) if not a),
        float(condition) if rank == len(names) else np.inf,
        acting & ~involved,
    )


def _sparse_null_space(scaled: np.ndarray, rank: int) -> np.ndarray:
    """A basis in whose vectors few entries differ from 0: each is about an unknown that others can stand in for."""
    count = scaled.shape[1]
    if rank == count:
        return np.zeros((count, 0))
    _, T, order = qr(scaled, mode="economic", pivoting=True)
    basis = np.zeros((count, count - rank))
    basis[order[:rank]] = -np.linalg.solve(T[:rank, :rank], T[:rank, rank:]) if rank else 0
    basis[order[rank:]] = np.eye(count - rank)
    return basis


def _in_words(names, z, strong, values, slopes, same) -> Direction:
    """One direction, as products or as sums of unknowns."""
    change = z * slopes
    exponents = _exponents(change, values, strong)
    involved = np.flatnonzero(strong)
    if exponents is not None and same is not None:
        product = values * 1.1**exponents
        step = np.where(strong, change, 0)
        sum_ = values + 0.1 * step / np.max(np.abs(step[involved]) / _size(values)[involved])
        if 10 * same(sum_) < same(product):
            exponents = None
    if exponents is not None:
        involved = np.flatnonzero(exponents)
        chosen, weights, kind = tuple(names[i] for i in involved), exponents[involved], "product"
        combinations = _products(chosen, weights)
    else:
        chosen, kind = tuple(names[i] for i in involved), "sum"
        pivot = int(np.argmax(np.abs(change[involved] / _size(values)[involved])))
        weights = change[involved] / change[involved][pivot]
        combinations = _sums(chosen, weights, pivot)
    return Direction(chosen, tuple(weights.tolist()), kind, _determined(combinations), _remedy(chosen))


def _size(values: np.ndarray) -> np.ndarray:
    return np.where(values == 0, 1, np.abs(values))


def _exponents(change: np.ndarray, values: np.ndarray, strong: np.ndarray) -> np.ndarray | None:
    """The relative changes as small whole numbers, if they are; of those that hardly contribute only roughly."""
    if np.any(values[strong] == 0):
        return None
    relative = np.where(values == 0, 0, change / _size(values) * np.sign(values))
    relative = relative / np.min(np.abs(relative[strong]))
    for factor in (1, 2, 3):
        whole = np.round(relative * factor)
        off = np.abs(relative * factor - whole)
        if np.all(off[strong] < 1e-3 * np.abs(whole[strong])) and np.all(off < 0.1) and np.max(np.abs(whole)) <= 6:
            return whole
    return None


def _products(names: tuple[str, ...], exponents: np.ndarray) -> list[str]:
    """Products that stay the same, of one unknown with each of the others."""
    signs = np.sign(exponents)
    # The one that all others make up for, if there is one.
    pivot = int(np.argmin([np.sum(signs == sign) for sign in signs]))
    texts = []
    for i in range(len(names)):
        if i != pivot:
            a, b = -exponents[i] * signs[pivot], abs(exponents[pivot])
            divisor = np.gcd(int(abs(a)), int(b))
            a, b = a / divisor, b / divisor
            own, other = _power(names[i], b), _power(names[pivot], abs(a))
            texts.append(f"{other} * {own}" if a > 0 else f"{own} / {other}")
    return texts


def _power(name: str, exponent: float) -> str:
    return name if exponent == 1 else f"{name}^{exponent:g}"


def _sums(names: tuple[str, ...], weights: np.ndarray, pivot: int) -> list[str]:
    """Sums that stay the same: each unknown less its share of the one that may be chosen freely."""
    others = [i for i in range(len(names)) if i != pivot]
    signs = {i: "-" if weights[i] > 0 else "+" for i in others}
    return [f"{names[i]} {signs[i]} {abs(weights[i]):.6g} * {names[pivot]}" for i in others]


def _determined(combinations: list[str]) -> str:
    more = f", {combinations[-1]}" if len(combinations) > 1 else ""
    verb = "is" if len(combinations) == 1 else "are"
    return f"only {', '.join(combinations[:-1]) or combinations[0]}{more} {verb} determined"


def _remedy(names: tuple[str, ...]) -> str:
    return f"Fix one of {', '.join(names)}, or measure what tells them apart"
