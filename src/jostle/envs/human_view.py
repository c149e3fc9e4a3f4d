"""`render_mode="human"`: the first environment on a page in the browser."""

import importlib
from typing import TYPE_CHECKING, Any, Protocol

from jostle.core.extras import require_packages

if TYPE_CHECKING:
    from jostle.envs.vector import TabletopVectorEnv

_PAGE = "jostle.playground.human"
"""Module of the page, by name: environments do not depend on it."""


class Page(Protocol):
    """A page that shows an environment."""

    def show(self, env: "TabletopVectorEnv", infos: dict[str, Any]) -> None:
        """Show the present state."""
        ...

    def close(self) -> None:
        """Stop serving."""
        ...


class HumanView:
    """Opens the page with the first state, if the environment is to be watched."""

    def __init__(self) -> None:
        """Start without a page."""
        self._page: Page | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Pickle no page: a restored environment opens one of its own."""
        return {"_page": None}

    def update(self, env: "TabletopVectorEnv", infos: dict[str, Any]) -> None:
        """Show the present state of an environment with render_mode "human"."""
        if env.render_mode != "human":
            return
        if self._page is None:
            what = 'render_mode="human"'
            require_packages(what, "starlette", "uvicorn", "websockets", "PIL")
            page: Page = importlib.import_module(_PAGE).EnvironmentPage()
            self._page = page
        self._page.show(env, infos)

    def close(self) -> None:
        """Close the page; the next state opens a new one."""
        if self._page is not None:
            self._page.close()
            self._page = None
