"""Goal-conditioned behavior cloning: the actor is fitted to the actions of the data."""

from torch import Tensor

from jostle.agents.td3 import TD3Agent
from jostle.replay.batch import Batch


class BCAgent(TD3Agent):
    """An actor that learns by squared error; critics are there, but never learn."""

    def _update(self, batch: Batch) -> dict[str, Tensor]:
        action, _ = self.predict(batch.actor.state, batch.actor.goal)
        loss = (action - batch.action).square().mean()
        self.step_actor(loss)
        return {"bc_loss": loss.detach(), "action_abs": action.detach().abs().mean()}

    def diagnose(self, batch: Batch) -> dict[str, Tensor]:
        """Nothing: its critics never learn."""
        del batch
        return {}

    def learning_tensors(self) -> dict[str, Tensor]:
        """Nothing: critics that never learned are of no use to another training."""
        return {}
