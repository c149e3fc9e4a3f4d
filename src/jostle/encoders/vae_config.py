"""Sizes and loss weights of the variational autoencoder."""

from dataclasses import dataclass

from jostle.core.errors import require


@dataclass(frozen=True, kw_only=True)
class VAEConfig:
    """Sizes and loss weights of the autoencoder; the defaults are those of the released code."""

    image_size: int = 128
    """Height and width of the frames, in pixels."""
    downscale: int = 1
    """Factor by which frames are downscaled first."""
    latent_dim: int = 256
    """Width of the vector that represents an image."""
    base_channels: int = 64
    """Channels at full size."""
    channel_multipliers: tuple[int, ...] = (1, 1, 2, 2, 2, 4)
    """Channels at each level in units of `base_channels`; the size halves from level to level."""
    blocks_per_level: int = 2
    """Residual blocks at each level; the decoder has one more."""
    norm_groups: int = 32
    """Groups of the group norms."""
    attention_sizes: tuple[int, ...] = (16,)
    """Sizes of maps, in pixels, with self-attention after every block."""
    bottleneck_channels: int = 64
    """Channels at the smallest size."""
    hidden_dim: int = 512
    """Hidden layer between the smallest maps and the latent."""
    beta: float = 1e-10
    """Weight of the KL divergence from N(0, 1)."""
    edge_weight: float = 1.0
    """Weight of differences of neighboring pixels, on a pyramid of three sizes."""
    lpips_file: str = ""
    """Safetensors file with a VGG16 (and LPIPS calibration): the original's perceptual distance
    instead of the differences of `edge_weight`. Needed for training only."""
    foreground_weight: float = 0.0
    """How much more a pixel counts that is far from the median frame."""
    subtract_background: bool = False
    """Whether the decoder predicts only the difference from the median frame; the encoder reads
    whole frames in any case."""
    num_cameras: int = 2
    """Views with a median frame of their own; for `foreground_weight` and `subtract_background`."""

    def __post_init__(self) -> None:
        """Refuse sizes that do not fit each other."""
        halvings = len(self.channel_multipliers) - 1
        require(
            self.image_size % self.downscale == 0 and self.input_size % (1 << halvings) == 0,
            f"An image of {self.image_size} px downscaled by {self.downscale} cannot be halved "
            f"{halvings} times.",
        )
        require(
            self.base_channels % self.norm_groups == 0,
            f"base_channels ({self.base_channels}) must be a multiple of norm_groups "
            f"({self.norm_groups}).",
        )

    @property
    def input_size(self) -> int:
        """Side of the downscaled images, in pixels."""
        return self.image_size // self.downscale

    @property
    def bottleneck_size(self) -> int:
        """Side of the smallest maps, in pixels."""
        return self.input_size >> (len(self.channel_multipliers) - 1)


PAPER_VAE = VAEConfig()
"""The unstructured baseline of the paper."""
LITE_VAE = VAEConfig(
    downscale=4,
    base_channels=16,
    channel_multipliers=(1, 2, 4, 4),
    blocks_per_level=1,
    norm_groups=8,
    attention_sizes=(),
    edge_weight=0.0,
    foreground_weight=60.0,
    subtract_background=True,
)
"""The same vector from images of a quarter of the side, at a hundredth of the compute."""
