"""Memory, in MiB, that the imports and then the environments add to a fresh process."""

import json
import re
import subprocess
import sys
from pathlib import Path


def measure(obs_type: str, num_envs: int, threads: int) -> dict[str, float]:
    """Measure in a fresh process how much memory the environments take."""
    command = [sys.executable, __file__, obs_type, str(num_envs), str(threads)]
    process = subprocess.run(command, capture_output=True, text=True, check=True)
    result: dict[str, float] = json.loads(process.stdout)
    return result


def main() -> None:
    """Build the environments in this process, step a little and print the numbers."""
    obs_type, num_envs, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    from jostle.envs.vector import TabletopVectorEnv

    imports = resident("VmRSS")
    env = TabletopVectorEnv(num_envs, "ThreeCubes", obs_type=obs_type, threads=threads)
    env.reset(seed=0)
    for _ in range(20):
        env.step(env.action_space.sample())
    print(json.dumps({"imports": imports, "environment": resident("VmHWM") - imports}))
    env.close()


def resident(field: str) -> float:
    """Read a memory field of this process: resident now (VmRSS) or at its peak (VmHWM)."""
    text = Path("/proc/self/status").read_text()
    match = re.search(rf"{field}:\s+(\d+) kB", text)
    return int(match[1]) / 1024 if match else float("nan")


if __name__ == "__main__":
    main()
