"""The `jostle` command: one file per subcommand."""

import importlib
import os
import sys

from jostle.cli.old_names import check_flags, new_command
from jostle.core.catalog import Catalog
from jostle.core.errors import JostleError, UnknownNameError
from jostle.core.extras import explain

COMMANDS: Catalog[str] = Catalog(
    "command",
    {
        "tasks": "List the tasks",
        "video": "Record an episode of an agent: .mp4 or .gif, and a contact sheet",
        "play": "Play with an agent in the browser: drag goals, push things, watch it recover",
        "tag": "Tag the particles that are objects in the browser, and fit a classifier",
        "evaluate": "Evaluate agents with the paper's five metrics",
        "generalize": "Map how much success an agent keeps when its task changes",
        "report": "Lay stored results beside the paper's, on one page",
        "compare": "Compare two agents on the same episodes, from stored results",
        "benchmark": "Evaluate many agents on many tasks, beside the paper's results",
        "theory": "Check the theory of generalization to more objects, beside measured errors",
        "collect": "Collect frames with ground truth for encoders",
        "record": "Record episodes of agents as data to learn from",
        "pretrain": "Train an encoder, or resume a run",
        "probe": "Measure an encoder against the ground truth of frames",
        "train": "Train an agent, or resume a run",
        "sweep": "Train several settings and seeds, on this machine or a cluster",
        "plot": "Plot the learning curves of runs",
        "queue": "Work through a queue of trainings",
        "reproduce": "Train a model of the zoo again, with everything that it starts from",
        "export": "Write an agent as ONNX, or recorded episodes for Minari, LeRobot or OGBench",
        "import": "Turn an npz file of OGBench or HECRL into recorded episodes",
        "zoo": "List, show, add or tune trained models",
        "demo": "Record and evaluate a trained agent on 3-Cubes, render every task",
        "doctor": "Check that this machine can simulate and render",
        "docs": "Render the images of the documentation",
    },
)


def main() -> None:
    """Run a command; exit code 0 for success, 1 for a failure, 2 for wrong usage."""
    if len(sys.argv) < 2:
        _print_usage()
        sys.exit(2)
    command, *argv = sys.argv[1:]
    try:
        code = _run(command, argv)
        sys.stdout.flush()
        sys.exit(code)
    except JostleError as error:
        print(f"jostle: {error}", file=sys.stderr)
        sys.exit(2 if isinstance(error, KeyError | ValueError) else 1)
    except BrokenPipeError:  # the reader of the output has closed it, as `| head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        print(f"jostle: {_describe(error)}", file=sys.stderr)
        sys.exit(1)
    except ImportError as error:
        explained = explain(f"'{command}'", error)
        if explained is error:
            raise
        print(f"jostle: {explained}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("\njostle: stopped", file=sys.stderr)
        sys.exit(130)


def _run(command: str, argv: list[str]) -> int:
    if command in ("-V", "--version", "version"):
        from jostle import __version__

        print(__version__)
        return 0
    if command in ("-h", "--help", "help") and not argv:
        _print_usage()
        return 0
    if command == "help":
        command, argv = argv[0], ["--help"]
    if command not in COMMANDS and (new := new_command(command)):
        raise UnknownNameError(f"'{command}' is now '{new}'.")
    _ = COMMANDS[command]
    if "--quiet" in argv:
        from jostle.cli.bars import set_quiet

        set_quiet(True)
        argv = [word for word in argv if word != "--quiet"]
    module = {"import": "import_data"}.get(command, command)  # import is a word of Python
    run = importlib.import_module(f"jostle.cli.{module}").run
    check_flags(argv, run)
    return run(argv) or 0


def _print_usage() -> None:
    print("usage: jostle COMMAND [options]   (options: jostle COMMAND --help)\n")
    for command, summary in COMMANDS.items():
        print(f"  {command:10} {summary}")
    print("\nEvery command takes --quiet: no progress, only results.")


def _describe(error: OSError) -> str:
    if error.filename is None or error.strerror is None:
        return str(error)
    return f"{error.filename}: {error.strerror}."
