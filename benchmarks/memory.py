"""Print, in MiB, what the imports and then one environment add to a fresh process."""

import json
import re
import subprocess
import sys
from pathlib import Path


def measure(obs_type: str, copies: int, threads: int) -> dict[str, float]:
    """Ask a fresh process how much memory an environment takes."""
    command = [sys.executable, __file__, obs_type, str(copies), str(threads)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main() -> None:
    """Build one environment in this process, act a little and print the numbers."""
    obs_type, copies, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    from jostle.envs.vector import TabletopVectorEnv

    imports = resident("VmRSS")
    env = TabletopVectorEnv(copies, "ThreeCubes", obs_type=obs_type, threads=threads)
    env.reset(seed=0)
    for _ in range(20):
        env.step(env.action_space.sample())
    print(json.dumps({"imports": imports, "environment": resident("VmHWM") - imports}))
    env.close()


def resident(field: str) -> float:
    """Read a memory field of this process: resident now, or the most it ever was."""
    text = Path("/proc/self/status").read_text()
    match = re.search(rf"{field}:\s+(\d+) kB", text)
    return int(match[1]) / 1024 if match else float("nan")


if __name__ == "__main__":
    main()
