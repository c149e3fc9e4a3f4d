"""How restless an agent is best used: tried on some episodes, decided on others."""

from collections.abc import Callable, Sequence
from pathlib import Path

from jostle.core.errors import require
from jostle.evaluation.compare import compare
from jostle.evaluation.examine import Examination
from jostle.training.recall import recall
from jostle.training.workshop import EXAM_SEED, examine_agent
from jostle.zoo.keeping import shelve, told_score, write_restless
from jostle.zoo.shelf import FOLDER, amend_card, find


def tune(
    name: str,
    levels: Sequence[float],
    tell: Callable[[str], None],
    zoo: Path = FOLDER,
    trials: int = 200,
    episodes: int = 400,
) -> float:
    """Try an agent with noise of several deviations; keep the best if it also wins fixed episodes.

    Returns:
        The deviation with which the agent is used from now on.
    """
    require(len(levels) > 0, "Name at least one level of noise to try.")
    require(min(levels) >= 0, f"Levels of noise must not be negative: {tuple(levels)}.")
    entry = find(name, zoo)
    experiment, agent = recall(entry.weights)

    def played(level: float, count: int, seed: int) -> Examination:
        agent.restless = level
        return examine_agent(experiment, agent, count, seed=seed, copies=100)

    tried = {level: played(level, trials, EXAM_SEED).mean("success") for level in levels}
    for level, success in tried.items():
        tell(f"{name}, restless {level:g}: {success:.3f} of {trials} episodes")
    now, best = experiment.explore.restless, max(tried, key=lambda level: tried[level])
    if best == now:
        tell(f"{name} stays as it is.")
        return now
    new = played(best, episodes, 0)
    paired = compare(new, played(now, episodes, 0))
    tell(f"{name}: {paired.verdict(f'restless {best:g}', f'restless {now:g}')}")
    if paired.only_first <= paired.only_second:
        return now
    changed = write_restless(entry.weights, entry.weights.with_suffix(".part"), best)
    shown = ", ".join(f"{success:.3f} with {level:g}" for level, success in tried.items())
    chosen = f"{best:g}, chosen by {trials} other episodes: {shown}"
    amend_card(entry, {**told_score(new), "restless": chosen})
    shelve(name, entry.weights, changed, new)
    tell(f"{name}: kept with restless {best:g}, success {new.mean('success'):.3f}")
    return best
