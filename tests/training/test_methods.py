"""What every method promises of its agent."""

import re

import pytest

pytest.importorskip("torch")

from jostle.core.protocols import Agent, Stateful
from jostle.training import methods


def test_every_part_of_the_contract_of_agents_is_checked():
    parts = {
        name
        for protocol in (Agent, Stateful)
        for name in (*vars(protocol), *protocol.__annotations__)
        if re.match(r"[a-z]", name)
    }
    assert parts == set(methods._AGENT_PARTS)
