"""The experiments of Räisä et al. 2025: pairs of a reference and a generated set of points, of any size.

Every experiment varies one quantity x. The distributions and their parameters are those of the paper; the values of x, the number
of points n and the number of dimensions are chosen by the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

Points = np.ndarray                         # n x dimensions
Draw = Callable[[float, int, int, np.random.Generator], Points]     # of x, n, dimensions and a generator of random numbers

FAR = {1: 6.0, 8: 3.0, 64: 1.0}             # the largest difference of means by dimensions, where the outlier is
MODES, LAST_MODE = 10, 10.0                 # modes from 0 to 10 on the diagonal
MODE_SPREAD = {1: 1 / 6, 8: 1 / 3, 64: 1.0}     # their standard deviation by dimensions
PARETO = 1.01                               # shape; the variance is infinite
OVERLAP = 0.2                               # of two hypercubes of volume 1
BALL, TUBE = 0.8, 0.1                       # radius of the ball inside a torus of radius 1, and of the torus's tube
DISJOINT = 6.0                              # difference of means in the dimension that differs
REAL_MODES, INVENTED_SPREAD = 5, 0.25
PLANE = np.array([(5.47, -4.08), (4.87, -13.65), (-16.39, 9.10), (-2.15, 12.46), (11.56, -4.96), (-24.61, 14.18), (16.84, -3.19),
                  (-5.48, -6.77), (9.47, 1.06), (-5.40, -17.29)])       # the means of the first n modes, where modes are invented


def normal(x: float, n: int, dimensions: int, rng: np.random.Generator) -> Points:
    """Return a standard normal sample."""
    return rng.normal(size=(n, dimensions))


def shifted(x: float, n: int, dimensions: int, rng: np.random.Generator) -> Points:
    """Return a normal sample with mean x in every dimension."""
    return rng.normal(size=(n, dimensions)) + x


def scaled(x: float, n: int, dimensions: int, rng: np.random.Generator) -> Points:
    """Return a normal sample with mean 0 and standard deviation x."""
    return rng.normal(size=(n, dimensions)) * x


def with_outlier(draw: Draw) -> Draw:
    """Return the draw with one more point, far from the mean in every dimension."""
    return lambda x, n, dimensions, rng: np.vstack([draw(x, n, dimensions, rng), np.full((1, dimensions), FAR[dimensions])])


def beside_pareto(draw: Draw) -> Draw:
    """Return the draw with a Pareto distribution in the last dimension."""
    def joined(x: float, n: int, dimensions: int, rng: np.random.Generator) -> Points:
        return np.hstack([draw(x, n, dimensions - 1, rng), 1 + rng.pareto(PARETO, (n, 1))])
    return joined


def mixture(means: np.ndarray, spread: float, weights: Sequence[float] | np.ndarray, n: int, rng: np.random.Generator) -> Points:
    """Return a sample of a mixture of normal distributions, of which `means` has one row each."""
    chosen = rng.choice(len(means), n, p=np.asarray(weights) / np.sum(weights))
    return np.asarray(means[chosen] + spread * rng.normal(size=(n, means.shape[1])))


def diagonal_modes(weights: Sequence[float], n: int, dimensions: int, rng: np.random.Generator) -> Points:
    """Return a sample of modes on the diagonal of a hypercube."""
    means = np.tile(np.linspace(0, LAST_MODE, MODES)[:, None], dimensions)
    return mixture(means, MODE_SPREAD[dimensions], weights, n, rng)


def all_modes(x: float, n: int, dimensions: int, rng: np.random.Generator) -> Points:
    """Return a sample of ten modes of equal weight."""
    return diagonal_modes([1] * MODES, n, dimensions, rng)


def fading_modes(x: float, n: int, dimensions: int, rng: np.random.Generator) -> Points:
    """Return a sample of ten modes of which all but one have lost a share x of their weight."""
    return diagonal_modes([1, *[1 - x] * (MODES - 1)], n, dimensions, rng)


def fewer_modes(x: float, n: int, dimensions: int, rng: np.random.Generator) -> Points:
    """Return a sample without the last x of ten modes."""
    return diagonal_modes([1] * (MODES - round(x)) + [0] * round(x), n, dimensions, rng)


def plane_modes(x: float, n: int, dimensions: int, rng: np.random.Generator) -> Points:
    """Return a sample of the first x modes in the plane."""
    return mixture(PLANE[:round(x)], INVENTED_SPREAD, [1] * round(x), n, rng)


def two_modes(x: float, n: int, dimensions: int, rng: np.random.Generator) -> Points:
    """Return a sample of two modes whose means are x apart in every dimension."""
    return mixture(np.outer([-x / 2, x / 2], np.ones(dimensions)), 1.0, [1, 1], n, rng)


def one_wide_mode(x: float, n: int, dimensions: int, rng: np.random.Generator) -> Points:
    """Return a normal sample that is wide enough to cover two modes x apart."""
    return scaled(np.sqrt(1 + x ** 2), n, dimensions, rng)


def sphere_surface(x: float, n: int, dimensions: int, rng: np.random.Generator) -> Points:
    """Return points on the surface of a hypersphere of radius x."""
    directions = rng.normal(size=(n, dimensions))
    return np.asarray(x * directions / np.linalg.norm(directions, axis=1, keepdims=True))


def ball(x: float, n: int, dimensions: int, rng: np.random.Generator) -> Points:
    """Return points inside a ball of radius x."""
    return sphere_surface(x, n, dimensions, rng) * rng.uniform(size=(n, 1)) ** (1 / dimensions)


def torus(n: int, rng: np.random.Generator) -> Points:
    """Return points of a torus of radius 1 about the third axis."""
    section = ball(TUBE, n, 2, rng)
    angles = rng.uniform(0, 2 * np.pi, n)
    return np.stack([(1 + section[:, 0]) * np.cos(angles), (1 + section[:, 0]) * np.sin(angles), section[:, 1]], axis=1)


def cube(n: int, dimensions: int, rng: np.random.Generator) -> Points:
    """Return points of the unit hypercube."""
    return rng.uniform(size=(n, dimensions))


def moved_cube(x: float, n: int, dimensions: int, rng: np.random.Generator) -> Points:
    """Return x n points of a hypercube that shares a fifth of its volume with the unit hypercube."""
    start: float = 1 - OVERLAP ** (1 / dimensions)
    return cube(round(x * n), dimensions, rng) + start


def stretched(offset: float) -> Draw:
    """Return a draw of normal samples: the mean is `offset` in the first dimension, the second is multiplied by x."""
    return lambda x, n, dimensions, rng: (rng.normal(size=(n, 2)) + np.array([offset, 0])) * np.array([1, x])


def among_others(offset: float) -> Draw:
    """Return a draw of normal samples in x + 1 dimensions: the mean is `offset` in the first."""
    return lambda x, n, dimensions, rng: np.hstack([rng.normal(size=(n, 1)) + offset, rng.normal(size=(n, round(x)))])


def rounded(x: float, n: int, dimensions: int, rng: np.random.Generator) -> Points:
    """Return a standard normal sample, rounded to multiples of x."""
    return np.asarray(np.round(rng.normal(size=(n, dimensions)) / x) * x)


@dataclass(frozen=True)
class Experiment:
    """How the two sets of points are drawn for a value of x."""

    reference: Draw
    generated: Draw
    fixed: bool = True                      # the reference is the same set for all values of x

    def pairs(self, values: Sequence[float], n: int, dimensions: int,
              rng: np.random.Generator) -> Iterator[tuple[Points, Points]]:
        """Yield reference and generated points for each value."""
        reference: Points | None = None
        for x in values:
            if reference is None or not self.fixed:
                reference = self.reference(x, n, dimensions, rng)
            yield reference, self.generated(x, n, dimensions, rng)


EXPERIMENTS: Mapping[str, Mapping[str, Experiment]] = {         # by check and variant
    "mean_difference": {"": Experiment(normal, shifted)},
    "outlier": {"in the reference": Experiment(with_outlier(normal), shifted),
                "in the generated points": Experiment(normal, with_outlier(shifted))},
    "pareto": {"": Experiment(beside_pareto(normal), beside_pareto(shifted))},
    "spread_difference": {"": Experiment(normal, scaled)},
    "simultaneous_mode_dropping": {"": Experiment(all_modes, fading_modes)},
    "sequential_mode_dropping": {"": Experiment(all_modes, fewer_modes)},
    "mode_invention": {"": Experiment(lambda _, *rest: plane_modes(REAL_MODES, *rest), plane_modes)},
    "mode_collapse": {"": Experiment(two_modes, one_wide_mode, fixed=False)},
    "sphere_surface": {"": Experiment(lambda _, *rest: sphere_surface(1, *rest), sphere_surface)},
    "sample_size": {"": Experiment(lambda x, n, *rest: cube(round(x * n), *rest), moved_cube, fixed=False)},
    "generated_size": {"": Experiment(lambda _, *rest: cube(*rest), moved_cube)},
    "sphere_torus": {
        "ball as the reference": Experiment(lambda _, *rest: ball(BALL, *rest), lambda x, n, _, rng: torus(round(x * n), rng)),
        "torus as the reference": Experiment(lambda _, n, __, rng: torus(n, rng),
                                             lambda x, n, *rest: ball(BALL, round(x * n), *rest))},
    "scaled_dimension": {"": Experiment(stretched(0), stretched(DISJOINT), fixed=False)},
    "disjoint_dimension": {"": Experiment(among_others(0), among_others(DISJOINT), fixed=False)},
    "discrete_values": {"in the reference": Experiment(rounded, normal, fixed=False),
                        "in the generated points": Experiment(normal, rounded, fixed=False)},
}
