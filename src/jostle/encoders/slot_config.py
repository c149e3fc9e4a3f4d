"""Sizes of the Slot Attention model."""

from dataclasses import dataclass

from jostle.core.errors import require

BROADCAST_SIDE = 8
"""Side of the maps that slots are broadcast to, in pixels."""


@dataclass(frozen=True, kw_only=True)
class SlotConfig:
    """Sizes of the slot model; the defaults are those of the released code."""

    image_size: int = 128
    """Height and width of the frames, in pixels."""
    downscale: int = 1
    """Factor by which frames are downscaled first."""
    num_slots: int = 10
    """Slots per image."""
    slot_dim: int = 64
    """Features of a slot."""
    channels: int = 64
    """Channels of the convolutions."""
    kernel_size: int = 5
    """Side of the convolutions' kernels, in pixels."""
    last_channels: int = 64
    """Channels of the decoder at full size."""
    hidden_dim: int = 128
    """Hidden layer of the MLP after the recurrent update."""
    iterations: int = 2
    """Attention iterations without gradient; one more follows with gradient."""
    noise_seed: int = 0
    """Seed of the fixed noise that slots are initialized with when encoding."""
    foreground_weight: float = 0.0
    """How much more a pixel counts that is far from the median frame."""
    subtract_background: bool = False
    """Whether the static background is given. Slots read differences from the median frame, with
    tokens weighted by `foreground_weight`; and the median competes with the slots for every pixel
    of the reconstruction."""
    num_cameras: int = 2
    """Views with a median frame of their own; for `foreground_weight` and `subtract_background`."""

    def __post_init__(self) -> None:
        """Refuse sizes that the decoder cannot reach."""
        sides = ", ".join(str(BROADCAST_SIDE << doublings) for doublings in (1, 2, 3))
        require(
            self.image_size % self.downscale == 0
            and BROADCAST_SIDE << self.num_upsamplings == self.input_size
            and self.num_upsamplings >= 1,
            f"The decoder draws {sides}, ... px, but {self.image_size} px downscaled by "
            f"{self.downscale} are {self.image_size / self.downscale:g} px.",
        )
        require(self.num_slots >= 1, f"There must be at least 1 slot, not {self.num_slots}.")

    @property
    def input_size(self) -> int:
        """Side of the downscaled images, in pixels."""
        return self.image_size // self.downscale

    @property
    def num_upsamplings(self) -> int:
        """How often the decoder doubles the size."""
        return (self.input_size // BROADCAST_SIDE).bit_length() - 1


PAPER_SLOTS = SlotConfig()
"""The slot baseline of the paper."""
LITE_SLOTS = SlotConfig(
    downscale=4,
    channels=32,
    kernel_size=3,
    last_channels=16,
    foreground_weight=20.0,
    subtract_background=True,
)
"""The same slots from images of a quarter of the side, with fewer channels and smaller kernels."""
