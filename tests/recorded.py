"""Small recordings for tests."""

from jostle.oracles.catalog import oracle
from jostle.rollout.episode_recorder import (
    EpisodeRecorder,
    RecordedAgent,
    RecordingSpec,
    record_episodes,
)

MIX = (RecordedAgent(name="random"), RecordedAgent(name="oracle", share=2.0, noise=0.1))


def spec(**fields):
    defaults = {
        "task": "TwoCubes", "env_kwargs": {"colors": "fixed"}, "agents": MIX, "steps": 5,
        "epsilon": 0.2, "num_envs": 4,
    }  # fmt: skip
    return RecordingSpec(**{**defaults, **fields})


def make_recorder(recording_spec):
    env = recording_spec.make_env(threads=1)
    policies = [
        None if agent.name == "random" else oracle(env.episode_sampler.task)
        for agent in recording_spec.agents
    ]
    return EpisodeRecorder(recording_spec, env, policies)


def record(folder, episodes, shard=4, report=None, **fields):
    """Record some episodes with the oracle and random actions."""
    recorder = make_recorder(spec(**fields))
    try:
        start = None if report is None else lambda total, done: report
        return record_episodes(recorder, episodes, folder, shard, start)
    finally:
        recorder.env.close()
