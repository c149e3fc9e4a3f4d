"""Compare agents of the zoo with their golden results over 100 fixed episodes (minutes each).

    python tests/golden/zoo.py [--write] [NAME ...]

Without names, all agents in zoo.json. --write stores the results of these agents as golden.
Results are equal bit for bit on the processor that wrote them, with one thread and 50 environments.
"""

import json
import sys
from dataclasses import replace
from pathlib import Path

import torch

from jostle.training.components import evaluate_agent
from jostle.zoo.agents import load_zoo_agent

GOLDEN = Path(__file__).parent / "zoo.json"


def evaluate(name: str) -> dict[str, object]:
    """The paper's metrics of an agent on its own task."""
    experiment, agent = load_zoo_agent(name)
    training = replace(experiment.training, threads=1, device="cpu")
    experiment = replace(experiment, training=training)
    summary = evaluate_agent(experiment, agent, 100, seed=0, num_envs=50).summary()
    return {key: value for key, value in summary.items() if key != "agent"}


def main() -> int:
    """Print what differs; returns the number of agents that do."""
    torch.set_num_threads(1)
    golden = json.loads(GOLDEN.read_text())
    write, names = "--write" in sys.argv, [word for word in sys.argv[1:] if word != "--write"]
    failures = 0
    for name in names or list(golden):
        results = evaluate(name)
        changed = {
            key: results.get(key) for key in golden[name] if results.get(key) != golden[name][key]
        }
        failures += bool(changed)
        print(name, f"success {results['success']:.3f}", changed or "equal", flush=True)
        if write:
            golden[name] = results
            GOLDEN.write_text(json.dumps(golden, indent=1, sort_keys=True) + "\n")
    return 0 if write else failures


if __name__ == "__main__":
    sys.exit(main())
