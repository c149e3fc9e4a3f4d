"""Messages of browsers: what is understood, what is refused, and limits on floods."""

import asyncio
import json
import random
from dataclasses import asdict

import pytest
from garbage import garbage

from jostle.core.errors import BadValueError
from jostle.playground import messages as m
from jostle.playground.clients import Outbox, RateLimit
from jostle.playground.history import History, ShownFrame
from jostle.playground.player import MAX_FPS, frames_per_action

VALID = {
    "steer": m.Steer(),
    "run": m.Run(False),
    "step": m.StepOnce(),
    "reset": m.Reset(3),
    "speed": m.Speed(0.5),
    "replay": m.Replay(True),
    "goal": m.MoveGoal(1, 0.1, -0.2, 0.5, False),
    "push": m.Push(0, 0.1, 0.2),
    "release": m.Release(),
    "color": m.Color(2, "pink"),
    "add": m.Add(),
    "remove": m.Remove(0),
    "drive": m.Drive(0.5, -0.5, 0.0),
    "setup": m.Setup("PushT", "oracle", None, "mass=x2", 7),
    "save": m.Save("film"),
}


@pytest.mark.parametrize("kind", VALID)
def test_every_message_survives_json(kind):
    text = json.dumps({"type": kind, **asdict(VALID[kind])})
    assert m.parse_message(text) == VALID[kind]
    assert m.parse_message(text.encode()) == VALID[kind]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[" * 3000, "not JSON"),
        ("[1]", "JSON object"),
        ('{"type": "gaol"}', "Did you mean 'goal'"),
        ('{"type": ["goal"]}', "no message"),
        ('{"type": "push", "slot": 0, "x": 0.1}', "lacks y"),
        ('{"type": "push", "slot": true, "x": 0, "y": 0}', "must be int"),
        ('{"type": "push", "slot": 0, "x": "0", "y": 0}', "must be float"),
        ('{"type": "push", "slot": 0, "x": NaN, "y": 0}', "lies in"),
        ('{"type": "push", "slot": 0, "x": 1e999, "y": 0}', "lies in"),
        ('{"type": "run", "running": 1}', "must be bool"),
        ('{"type": "run", "running": true, "more": 1}', "no field 'more'"),
        ('{"type": "reset", "seed": -1}', "seed"),
        ('{"type": "speed", "value": 3}', "one of"),
        ('{"type": "save", "what": "../../x"}', "can be saved"),
        ('{"type": "color", "slot": 0, "color": "' + "x" * 5000 + '"}', "at most"),
    ],
)
def test_wrong_messages_are_refused_by_one_sentence(text, why):
    with pytest.raises(BadValueError, match=why):
        m.parse_message(text)


def test_garbage_raises_nothing_else():
    source, answers = random.Random(0), []
    for _ in range(3000):
        try:
            m.parse_message(garbage(source))
        except BadValueError as error:
            answers.append(str(error))
    assert 1500 < len(answers) < 2990
    assert max(map(len, answers)) < 400


def test_a_flood_is_limited_to_the_rate():
    now = [0.0]
    limit = RateLimit(rate=10, burst=5, clock=lambda: now[0])
    assert sum(limit.allows() for _ in range(50)) == 5
    assert limit.dropped == 45
    now[0] += 1.0
    assert sum(limit.allows() for _ in range(50)) == 5  # no more than a burst
    now[0] += 0.25
    assert sum(limit.allows() for _ in range(50)) == 2


def test_a_slow_browser_gets_all_events_but_only_the_newest_state():
    async def fill():
        outbox = Outbox()
        for number in range(10):
            outbox.put("state", f"state {number}")
        outbox.put("", "first")
        outbox.put("", "second")
        return await outbox.take()

    assert asyncio.run(fill()) == ["first", "second", "state 9"]


def test_history_is_bounded_in_time_and_memory():
    history = History(seconds=5.0, max_bytes=200_000)
    for number in range(400):
        history.append(ShownFrame(number / 20, "{}", (b"x" * 2498,), number // 100))
    assert history.seconds <= 5.0
    assert len(history) * 2500 <= 200_000
    last = history.last(1.0)
    assert [frame.time for frame in last] == [number / 20 for number in range(379, 400)]
    assert {frame.episode for frame in history.of_episode(3)} == {3}
    assert History().last(20.0) == []


@pytest.mark.parametrize("speed", m.SPEEDS)
def test_frames_are_as_many_as_the_limit_allows(speed):
    rate = 3 * speed * frames_per_action(speed)
    assert 40 % frames_per_action(speed) == 0
    assert rate <= MAX_FPS
    assert rate >= 15 or speed < 1
