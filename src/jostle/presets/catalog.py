"""Every preset by name: task x method, in the paper's settings and in ours for two cores."""

from dataclasses import replace
from typing import Literal

from jostle.agents.config import ExploreConfig, TD3Config
from jostle.core.catalog import Catalog
from jostle.nets.config import FAST_NET, MLP_NET, PAPER_NET, SMORL_NET, NetConfig
from jostle.replay.sampler import HindsightConfig
from jostle.training.experiment import Experiment, TrainingConfig

_BUDGETS: dict[str, tuple[str, int | tuple[int, int] | None, int, int, int, int]] = {
    # task, objects, the paper's environment steps, memory, start and end of the decay
    "one-cube": ("OneCube", None, 480_000, 100_000, 8_000, 16_000),
    "two-cubes": ("TwoCubes", None, 3_000_000, 100_000, 16_000, 24_000),
    "three-cubes": ("ThreeCubes", None, 6_000_000, 200_000, 24_000, 32_000),
    "cubes": ("NCubes", (1, 3), 6_000_000, 200_000, 24_000, 32_000),
    "adjacent-goals": ("AdjacentGoals", None, 6_000_000, 200_000, 24_000, 32_000),
    "mixed-goals": ("MixedGoals", None, 6_000_000, 200_000, 24_000, 32_000),
    "small-table": ("SmallTable", None, 6_000_000, 300_000, 24_000, 32_000),
    "ordered-push": ("OrderedPush", None, 3_000_000, 100_000, 16_000, 24_000),
    "push-t": ("PushT", 1, 5_000_000, 100_000, 24_000, 32_000),
    "push-2t": ("PushT", 2, 10_000_000, 200_000, 24_000, 32_000),
}

_TEACHERS = {
    "adjacent-goals": "mixed-goals-state",
    "mixed-goals": "mixed-goals-state",
    "small-table": "small-table-state",
    "ordered-push": "ordered-push-state",
    "push-t": "push-t-state",
    "push-2t": "push-2t-state",
}
"""Agents of true state that teach those who see; cubes have one of their own."""


def _paper(name: str) -> Experiment:
    task, objects, steps, memory, start, end = _BUDGETS[name]
    return Experiment(
        name=f"{name}-state-paper",
        task=task,
        objects=objects,
        net=PAPER_NET,
        explore=ExploreConfig(decay_from=start, decay_until=end),
        # The original trains Ordered-Push without hindsight.
        hindsight=HindsightConfig(share=0.0 if name == "ordered-push" else 0.8),
        training=TrainingConfig(env_steps=steps, memory=memory),
    )


def _fast(name: str) -> Experiment:
    """The same task for two cores: smaller nets, plain critics, fewer updates, shorter discount."""
    paper = _paper(name)
    return replace(
        paper,
        name=f"{name}-state",
        net=replace(FAST_NET, critics="mlp"),
        td3=TD3Config(
            gamma=0.95, tau=0.01, slow_copies="actor-step", action_penalty=0.1, batch=256
        ),
        explore=replace(paper.explore, one_coin=False, approach=0.1),
        training=replace(
            paper.training, copies=32, updates_per_step=0.25, warmup_episodes=64, examine_every=20
        ),
    )


def _distill(name: str) -> Experiment:
    """Imitate the oracle: minutes instead of days."""
    fast = _fast(name)
    horizon = {"one-cube": 30, "two-cubes": 45, "cubes": 50, "push-t": 50}.get(name, 60)
    episodes = 8_000 if name == "one-cube" else 20_000
    return replace(
        fast,
        name=f"{name}-state-distill",
        td3=replace(fast.td3, lr=1e-3, batch=256),
        explore=ExploreConfig(epsilon=0.06, sigma=0.05, one_coin=False),
        hindsight=HindsightConfig(share=0.0),
        training=replace(
            fast.training, lane="distill", copies=64, horizon=horizon, demo_share=0.3,
            env_steps=episodes * horizon, memory=400_000, updates_per_step=0.05, examine_every=20,
            warmup_updates=200, decay=0.5,
        ),
    )  # fmt: skip


def _eyes(name: str) -> str:
    return "dlp-pusht" if name.startswith("push") else "dlp-6cubes"


def _seeing(net: NetConfig, name: str) -> NetConfig:
    """Particles of all views on one table; headings are hidden in how a particle looks."""
    return replace(net, ground=True, embed_hidden=(64,) if name.startswith("push") else ())


def _pixels_paper(name: str) -> Experiment:
    """TD3 and hindsight end to end from particles, in the paper's settings."""
    return replace(_paper(name), name=f"{name}-pixels-paper", encoder=_eyes(name))


def _pixels_fast(name: str) -> Experiment:
    """The same in ours: the critics see particles too, so that they must be made for sets.

    Frames are cheap beside updates. Whether something has fallen is not told by headings.
    """
    state = _fast(name)
    return replace(
        state,
        name=f"{name}-pixels",
        encoder=_eyes(name),
        net=_seeing(replace(state.net, critics="same"), name),
        td3=replace(state.td3, gains=True, imitate_self=2.0),
        explore=replace(state.explore, spare=True),
        hindsight=replace(state.hindsight, photos=5, on_table=not name.startswith("push")),
        training=replace(state.training, copies=64, updates_per_step=0.1),
    )


def _privileged(name: str) -> Experiment:
    """Critics know the true state while training; the actor sees pixels."""
    state = _fast(name)
    return replace(
        state,
        name=f"{name}-pixels-privileged",
        encoder=_eyes(name),
        net=_seeing(state.net, name),
        td3=replace(state.td3, batch=128),
        training=replace(state.training, lane="privileged-critic", random_codes=False),
    )


def _pixels_distill(name: str) -> Experiment:
    """Imitate from what the cameras show; a network, if there is one, is easier to follow.

    Where two cubes are equally near, the oracle jumps from one to the other, and a network glides.
    """
    state = _distill(name)
    teacher = "three-cubes-state" if "cube" in name else _TEACHERS.get(name, "oracle")
    return replace(
        state,
        name=f"{name}-pixels-distill",
        encoder=_eyes(name),
        # Imitation alone does not find out that looks tell a heading; to be asked for it helps.
        net=replace(_seeing(state.net, name), tells={"push-t": 4, "push-2t": 8}.get(name, 0)),
        td3=replace(state.td3, batch=128),
        training=replace(
            state.training, copies=32, memory=100_000, updates_per_step=0.2,
            env_steps=300_000, examine_every=40, teacher=teacher,
            swap_goals=0.5,
        ),
    )  # fmt: skip


def _finetune(name: str) -> Experiment:
    """Reinforce an imitator (--from): hardly any noise, critics of sets, and an anchor.

    The critics first learn what the imitator is worth; then it may leave its actions, but not far.
    """
    fast = _fast(name)
    return replace(
        fast,
        name=f"{name}-state-finetune",
        net=replace(fast.net, critics="same"),
        td3=replace(
            fast.td3, lr=2e-4, critic_lr=5e-4, batch=192, actor_rests=3500, anchor=4.0
        ),
        explore=ExploreConfig(epsilon=0.01, sigma=0.06, one_coin=False, restless=0.05),
        training=replace(
            fast.training, horizon=80, warmup_episodes=0, updates_per_step=0.2, env_steps=100_000,
            examine_every=10,
        ),
    )  # fmt: skip


def _pixels_finetune(name: str) -> Experiment:
    """The same for an imitator that sees, with critics that know the true state."""
    state = _finetune(name)
    return replace(
        state,
        name=f"{name}-pixels-finetune",
        encoder=_eyes(name),
        net=_seeing(state.net, name),
        td3=replace(state.td3, batch=128),
        training=replace(
            state.training, lane="privileged-critic", random_codes=False, updates_per_step=0.25
        ),
    )


def _mlp(experiment: Experiment) -> Experiment:
    """No sets: objects are told apart by their place in the row, so that codes must not move."""
    return replace(
        experiment,
        name=f"{experiment.name}-mlp",
        net=MLP_NET,
        training=replace(experiment.training, random_codes=False),
    )


def _colors(experiment: Experiment) -> Experiment:
    """Six colors drawn at random, as the paper generalizes from."""
    return replace(experiment, name=f"{experiment.name}-colors", colors="random")


def _front(experiment: Experiment) -> Experiment:
    """One view instead of two."""
    return replace(experiment, name=f"{experiment.name}-front", cameras=("front",))


def _hiding(experiment: Experiment, what: Literal["scale", "depth", "mask"]) -> Experiment:
    """Particles without one of their attributes."""
    return replace(experiment, name=f"{experiment.name}-no-{what}", hide=(what,))


def _vector(experiment: Experiment) -> Experiment:
    """The paper's unstructured image baseline: one vector per view, no sets."""
    mlp = _mlp(experiment)
    return replace(mlp, encoder="vae-123cubes")


def _slots(experiment: Experiment) -> Experiment:
    """Slots instead of particles: all of them visible, and none says where it is."""
    net = replace(experiment.net, bearings=0, ground=False)
    name = f"{experiment.name}-slots"
    return replace(experiment, name=name, encoder="slots-6cubes", net=net)


def _smorl(experiment: Experiment) -> Experiment:
    """One object at a time, in episodes of 30 steps whatever the number of objects."""
    return replace(
        experiment,
        name=f"{experiment.name}-smorl",
        net=SMORL_NET,
        training=replace(experiment.training, horizon=30),
    )


def _all() -> dict[str, Experiment]:
    by_state = (_fast, _paper, _distill, _finetune)
    by_sight = (_pixels_fast, _pixels_paper, _privileged, _pixels_distill, _pixels_finetune)
    found = [make(name) for name in _BUDGETS for make in (*by_state, *by_sight)]
    fixed = [name for name in _BUDGETS if not isinstance(_BUDGETS[name][1], tuple)]
    rivals = (_vector, _slots, _front)
    found += [make(_pixels_distill(name)) for name in fixed for make in rivals]
    found += [_colors(_pixels_distill(name)) for name in ("one-cube", "two-cubes", "three-cubes")]
    found += [_colors(_pixels_finetune(name)) for name in ("three-cubes", "mixed-goals")]
    two = _pixels_distill("two-cubes")
    found += [_hiding(two, "scale"), _hiding(two, "depth"), _hiding(two, "mask")]
    found += [_front(_privileged(name)) for name in fixed]
    found += [_mlp(make(name)) for name in fixed for make in (_fast, _paper, _distill)]
    found += [_smorl(make(name)) for name in fixed for make in (_fast, _paper)]
    return {experiment.name: experiment for experiment in found}


PRESETS: Catalog[Experiment] = Catalog("preset", _all())
