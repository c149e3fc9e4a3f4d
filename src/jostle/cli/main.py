"""The `jostle` command: one verb, one file."""

import importlib
import os
import sys

from jostle.core.catalog import Catalog
from jostle.core.errors import JostleError

VERBS: Catalog[str] = Catalog(
    "verb",
    {
        "tasks": "List the suite",
        "film": "Film an agent at work: .mp4 or .gif, and a contact sheet",
        "evaluate": "Score an agent with the paper's five metrics",
        "table": "Score many agents on many tasks, beside the paper's numbers",
        "collect": "Collect frames, and what they truly show, to learn seeing from",
        "pretrain": "Train an encoder of frames, or go on with a run",
        "probe": "Measure an encoder against what frames truly show",
        "train": "Train an agent, or go on with a run",
        "curves": "Draw the learning curves of runs",
        "relay": "Go on with the queue of trainings while the cores would idle",
        "zoo": "List the trained weights that come along",
        "demo": "Film and score a trained agent on 3-Cubes, photograph every task",
        "doctor": "Check that this machine can simulate and draw",
        "docs": "Make the pictures of the documentation",
    },
)


def main() -> None:
    """Run a verb; 0 done, 1 failed, 2 misuse."""
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print("usage: jostle VERB [options]   (jostle VERB --help tells the options)\n")
        for verb, summary in VERBS.items():
            print(f"  {verb:10} {summary}")
        sys.exit(0 if len(sys.argv) > 1 else 2)
    if sys.argv[1] == "--version":
        from jostle import __version__

        print(__version__)
        return
    try:
        verb = sys.argv[1]
        _ = VERBS[verb]
        module = importlib.import_module(f"jostle.cli.{verb}")
        code = module.run(sys.argv[2:]) or 0
        sys.stdout.flush()
        sys.exit(code)
    except JostleError as error:
        print(f"jostle: {error}", file=sys.stderr)
        sys.exit(2 if isinstance(error, KeyError | ValueError) else 1)
    except BrokenPipeError:  # whoever read has seen enough, as `| head` has
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except KeyboardInterrupt:
        print("\njostle: stopped", file=sys.stderr)
        sys.exit(130)
