"""The bounds of the paper, and those that replace them, as plain formulas.

M is the largest number of objects in training, N the number in use. `top` is the largest value of
a single object, 1 / (1 - gamma) for rewards in [0, 1].
"""


def top_value(gamma: float) -> float:
    """Largest discounted sum of rewards in [0, 1]."""
    return 1 / (1 - gamma)


def paper_weight_bound(delta: float) -> float:
    """Lemma on weights (paper), for δ everywhere: at most 2 δ with M < N < 2M objects."""
    return 2 * delta


def weight_bound(delta: float, trained: int, used: int) -> float:
    """Sharper, for δ everywhere and every N >= M >= 2: at most (N - 1) / (M - 1) δ."""
    return (used - 1) / (trained - 1) * delta


def product_bound(weights: float, values: float, epsilon: float, delta: float) -> float:
    """Lemma on products (paper): |αv - βu| for sums `weights` = α + β and `values` = v + u."""
    return weights / 2 * epsilon + values / 2 * delta


def paper_average_bound(epsilon: float, delta: float, count: int, top: float) -> float:
    """Lemma on averages (paper): two weighted averages of `count` values differ by this at most."""
    return epsilon + count * top * delta


def average_bound(epsilon: float, delta: float, count: int, top: float) -> float:
    """Half the second term: the differences of weights sum to zero."""
    return epsilon + count * top * delta / 2


def paper_bound(epsilon: float, delta: float, used: int, top: float) -> float:
    """Theorem 1 (paper), stated for M < N < 2M: 3 ε + (3 N + 2) top δ. Wrong for M = 2."""
    return 3 * epsilon + (3 * used + 2) * top * delta


def variation_bound(delta: float, trained: int, used: int) -> float:
    """Total variation of a row of weights, for δ everywhere: (N - 1) δ, from M = 3 on half of it.

    With three objects, total variation is the difference of a single weight, so at most δ. It grows
    from there by at most (N - 1) / 2: the average over all sets of three.
    """
    return (used - 1) / min(trained - 1, 2) * delta


def own_variation_bound(delta: float, trained: int, used: int) -> float:
    """Total variation of a row of weights, for δ within an object's own sets, M >= 3.

    The average over the sets of M that contain the object; those pairs of others that are rarely
    together count more, so it grows with the square of N.
    """
    others = (used - 1) * (used - 2) * (trained // 2)
    own = (used - 1) * (used - trained)
    return (others + own) / ((trained - 1) * (trained - 2)) * delta


def sharper_bound(epsilon: float, delta: float, trained: int, used: int, top: float) -> float:
    """For δ everywhere and every N >= M >= 2: ε + (N - 1) / 2 top δ; for M = 2 without the half.

    Only the ε of single objects is needed, and only the optimal values lie in [0, top].
    """
    return epsilon + top * variation_bound(delta, trained, used)


def own_bound(epsilon: float, delta: float, trained: int, used: int, top: float) -> float:
    """For the paper's δ and every N >= M >= 3. Up to N < 2M it is below the paper's bound."""
    return epsilon + top * own_variation_bound(delta, trained, used)


def paper_attention_bound(epsilon: float, separation: float) -> float:
    """Lemma on attention (paper): weights differ by at most 4 ε / λ, for ε of one row."""
    return 4 * epsilon / separation


def paper_extension_bound(epsilon: float, separation: float, used: int, top: float) -> float:
    """Theorem of the extension (paper): Theorem 1 with δ = 4 ε / λ. Wrong for ε of sets."""
    return paper_bound(epsilon, paper_attention_bound(epsilon, separation), used, top)


def object_bound(object_epsilon: float, trained: int, used: int) -> float:
    """If the value of every object is ε-close in its sets of up to M, for every N >= M >= 3.

    It needs neither δ nor λ nor the range of the values; it is ε at N = M and grows with the square
    of N.
    """
    pairs = (used - 1) * (used - 2) / ((trained - 1) * (trained - 2))
    own = (used - 1) * (used - trained) / (trained - 2)
    return (2 * pairs - 1 + 2 * own) * object_epsilon


def deep_sets_bound(epsilon: float) -> float:
    """The theorem on DeepSets: the error of single objects is that of all sets."""
    return epsilon
