"""Entity-centric reinforcement learning of object manipulation from pixels.

Importing this package registers the tasks as `jostle/…-v0` with Gymnasium.
"""

from importlib.metadata import PackageNotFoundError, version

from jostle.envs.register import register_all

try:
    __version__ = version("jostle")
except PackageNotFoundError:  # running from a source tree that was never installed
    __version__ = "0+source"

register_all()
