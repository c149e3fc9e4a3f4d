"""The handful of errors raised on purpose. Each is also a builtin, so plain `except` works."""


class JostleError(Exception):
    """Anything this package refuses on purpose; the text says what to do about it."""

    def __str__(self) -> str:
        """Plain text, also where the builtin (KeyError) would print a quoted repr."""
        return str(self.args[0]) if self.args else ""


class UnknownNameError(JostleError, KeyError):
    """A name that is in no catalog."""


class BadValueError(JostleError, ValueError):
    """A value outside the range that is allowed."""


class ImpossibleSceneError(JostleError, ValueError):
    """A scene or a placement that cannot exist, such as too many cubes for the table."""


class BadActionError(JostleError, ValueError):
    """An action of the wrong shape, or with NaN in it."""


class DivergedWarning(UserWarning):
    """Physics of some environments diverged; their episodes were truncated."""


class RenderError(JostleError, RuntimeError):
    """Images cannot be rendered; the text names the missing library or setting."""


class FramesError(JostleError, OSError):
    """A folder of frames or episodes that is missing, unfinished, damaged, busy or full."""


class MissingPackageError(JostleError, ImportError):
    """An optional package that is not installed; the text names the extra that installs it."""


class NotFiniteError(JostleError, ArithmeticError):
    """A loss or an action is no longer a number."""


class CheckpointError(JostleError, ValueError):
    """A file that is no checkpoint, is damaged, or belongs to something else."""


class ExportError(JostleError, RuntimeError):
    """An exported agent that computes something else than the agent itself."""


class ClusterError(JostleError, RuntimeError):
    """A cluster that cannot be reached, or workers that cannot be started or keep failing."""


def require(claim: bool, message: str) -> None:
    """Raise `BadValueError` with `message` unless `claim` holds."""
    if not claim:
        raise BadValueError(message)
