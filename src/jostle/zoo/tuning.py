"""Tuning of an agent's evaluation noise: chosen on some episodes, confirmed on others."""

from collections.abc import Callable, Sequence
from pathlib import Path

from jostle.core.errors import require
from jostle.evaluation.compare import compare
from jostle.evaluation.evaluate import Evaluation
from jostle.training.components import EVAL_SEED, evaluate_agent
from jostle.training.load import load_agent
from jostle.zoo.encoders import encoder_finder
from jostle.zoo.promote import register, score_facts, success_text, write_eval_noise
from jostle.zoo.registry import find_own, update_card

_CONFIRM_SEED = 20_000_000
"""Seed of the episodes on which a chosen level is compared with the present one."""


def tune(
    name: str,
    levels: Sequence[float],
    log: Callable[[str], None],
    zoo: Path | None = None,
    trials: int = 200,
    episodes: int = 400,
) -> float:
    """Try several evaluation noise levels; register the best one if it also wins on new episodes.

    No fixed episode decides anything: on those the card reports success with and without noise.

    The agent is one of the user's own, unless `zoo` names the folder of another zoo.

    Returns:
        Standard deviation of the evaluation noise that the agent has from now on.
    """
    require(len(levels) > 0, "Name at least one noise level to try.")
    require(min(levels) >= 0, f"Noise levels must not be negative: {tuple(levels)}.")
    entry = find_own(name, zoo)
    experiment, agent = load_agent(entry.weights, encoder_finder(zoo))

    def evaluate_with(std: float, count: int, seed: int) -> Evaluation:
        return evaluate_agent(experiment, agent, count, seed=seed, num_envs=100, eval_noise=std)

    trial_success = {std: evaluate_with(std, trials, EVAL_SEED).mean("success") for std in levels}
    for std, success in trial_success.items():
        log(f"{name}, evaluation noise {std:g}: success {success:.3f} in {trials} episodes")
    current = experiment.explore.eval_noise_std
    best = max(trial_success, key=lambda std: trial_success[std])
    if best == current:
        log(f"{name}: unchanged, the present noise level is the best one.")
        return current
    # Confirmation on episodes that neither chose the level nor are reported
    pair = [evaluate_with(std, episodes, _CONFIRM_SEED) for std in (best, current)]
    paired = compare(*pair)
    log(f"{name}: {paired.verdict(f'noise {best:g}', f'noise {current:g}')}")
    if paired.only_first <= paired.only_second:
        return current
    # Report on the fixed episodes, new weights file and card
    new = evaluate_with(best, episodes, 0)
    plain = new if best == 0 else evaluate_with(0.0, episodes, 0)
    changed = write_eval_noise(entry.weights, entry.weights.with_suffix(".part"), best)
    trial_text = ", ".join(f"{success:.3f} with {std:g}" for std, success in trial_success.items())
    chosen = f"{best:g}, chosen on {trials} other episodes: {trial_text}"
    facts = {"evaluation noise": chosen, "success without noise": success_text(plain)}
    update_card(entry, {**score_facts(new), **facts})
    register(name, entry.weights, changed, new)
    log(f"{name}: registered with evaluation noise {best:g}, success {new.mean('success'):.3f}")
    return best
