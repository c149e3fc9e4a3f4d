"""The warning about simulations that diverged."""

import warnings

from jostle.core.errors import DivergedWarning


def warn_diverged(failures: dict[int, str]) -> None:
    """Warn of simulations that diverged, given with the reasons; called by `step`."""
    texts = "; ".join(f"environment {env_id}: {reason}" for env_id, reason in failures.items())
    warnings.warn(
        f"Physics diverged and the episode was truncated ({texts}). "
        "The other environments are not affected.",
        DivergedWarning,
        stacklevel=3,
    )
