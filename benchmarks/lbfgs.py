"""CPU of fitting a graphical model: the search of `graphical/lbfgs.py` beside that of SciPy.

Every fit of a few releases of the bundled survey is made by both, from the same start to the same
size of the gradient. SciPy's L-BFGS-B gets variables that are rescaled by the diagonal at the
start, and the same memory.

    python benchmarks/lbfgs.py
"""

import time

import numpy as np
from scipy.optimize import minimize

import understudy as us
from understudy.demo import demo_data, demo_schema
from understudy.graphical import estimation
from understudy.graphical.lbfgs import Minimum, minimise

REPEATS = 3


def by_scipy(problem, start, *, tolerance, steps):
    """The same search by SciPy, in variables rescaled once."""
    scale = np.sqrt(problem.diagonal(start, problem.value(start)[1]))
    last = [start, problem.value(start)[1], 0]

    def value(z):
        f, gradient = problem.value(start + scale * z)
        last[:] = [start + scale * z, gradient, last[2] + 1]
        return f, scale * gradient

    def ended(_):
        if problem.size(last[1]) <= tolerance:  # a step ends where the function was asked last
            raise StopIteration

    options = {"maxcor": 8, "maxiter": steps, "maxfun": 30 * steps, "ftol": 0, "gtol": 0}
    found = minimize(
        value, np.zeros(len(start)), jac=True, method="L-BFGS-B", callback=ended, options=options
    )
    x = start + scale * found.x
    size = problem.size(problem.value(x)[1])
    return Minimum(x, size, size <= tolerance, found.nit, last[2])


def compare():
    """Fit as releases do, by both; a line for each method."""
    problems = []

    def kept(problem, start, **limits):
        problems.append((problem, start.copy(), limits))
        return minimise(problem, start, **limits)

    estimation.minimise = kept
    for method in ("mst", "marginals", "aim"):
        problems.clear()
        us.synthesize(
            demo_data(),
            demo_schema(),
            epsilon=1,
            delta="1e-6",
            method=method,
            insecure_noise_seed=1,
        )
        seconds, calls, missed = {}, {}, {}
        for name, search in (("ours", minimise), ("SciPy's", by_scipy)):
            begun = time.process_time()
            for _ in range(REPEATS):
                found = [search(problem, start, **limits) for problem, start, limits in problems]
            seconds[name] = (time.process_time() - begun) / REPEATS
            calls[name] = sum(one.evaluations for one in found)
            missed[name] = sum(not one.converged for one in found)
        numbers = sum(len(start) for _, start, _ in problems)
        print(f"{method}: {len(problems)} fits of {numbers:,} variables")
        for name, spent in seconds.items():
            print(f"  {name}: {spent:.2f} CPU s, {calls[name]} evaluations, {missed[name]} stopped")


if __name__ == "__main__":
    compare()
