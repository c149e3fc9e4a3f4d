"""Sizes, priors and loss weights of the deep latent particle model."""

from dataclasses import dataclass
from typing import Literal

from jostle.core.errors import require

ConvStack = tuple[tuple[int, int], ...]
"""Convolutions one after the other: channels and stride of each."""


@dataclass(frozen=True, kw_only=True)
class DLPConfig:
    """Deep latent particles, version 2; the defaults are those of the paper's released code."""

    image_size: int = 128
    """Height and width of an image, in pixels."""
    patch_size: int = 16
    """Side of the patches that propose one position each, in pixels."""
    proposer: Literal["patches", "heatmap"] = "patches"
    """Source of proposals: one per patch, or the local maxima of one heatmap over the image."""
    heatmap_channels: int = 16
    """Proposer 'heatmap': channels of its convolutions."""
    heatmap_dilations: tuple[int, ...] = (1, 2, 4)
    """Proposer 'heatmap': dilation of each convolution after the first."""
    num_proposals: int = 32
    """Proposals kept for the Chamfer term, those with the smallest variance."""
    num_particles: int = 24
    """Particles per image, at the best proposals."""
    feature_dim: int = 4
    """Appearance features per particle."""
    glimpse_size: int = 32
    """Side of a glimpse, in pixels: input of the encoders and output of the decoder."""
    attribute_passes: int = 2
    """Passes of the attribute encoder: with 2, the second crops where the first one pointed."""
    max_offset: float = 1.0
    """Largest offset of a particle in one pass; 2 is the side of the image."""

    prior_convs: ConvStack = ((16, 1), (16, 1), (32, 2), (32, 1), (64, 2), (64, 1))
    """Convolutions over a patch."""
    glimpse_convs: ConvStack = ((16, 1), (16, 1), (32, 2), (32, 1), (64, 2), (64, 1))
    """Convolutions over a glimpse, in both encoders."""
    glimpse_maps: int = 32
    """Channels of a last 1 × 1 convolution over a glimpse; 0: none."""
    bottleneck: int = 128
    """Width of a linear layer without activation after the convolutions; 0: none."""
    trunk: tuple[int, ...] = (256, 128)
    """Hidden layers before the heads of both encoders."""
    decoder_hidden: int = 256
    """Hidden layer of the glimpse decoder."""
    decoder_maps: int = 32
    """Channels of the glimpse decoder's first feature maps."""
    decoder_side: int = 8
    """Side of these maps; it doubles up to the side of the glimpse."""
    decoder_convs: tuple[int, ...] = (64, 64, 32)
    """Channels of the glimpse decoder's convolutions; the first ones are followed by upsampling."""
    decoder_kernel: Literal[1, 3] = 1
    """Kernel of its last convolution."""
    background: Literal["conv", "image"] = "conv"
    """Background model: one latent with a convolutional decoder, or learned images per camera."""
    num_cameras: int = 2
    """Views with a background of their own; for background images only."""
    num_backgrounds: int = 1
    """Background images per camera: one for each table or other static surroundings."""

    padding: Literal["replicate", "zeros"] = "replicate"
    """Padding of convolutions; those over patches always replicate."""
    border: Literal["zeros", "edge"] = "zeros"
    """What glimpses show outside of the image: black, or its outermost pixels."""
    norm_eps: float = 1e-4
    """Added to variances by the group norms."""
    conv_init_std: float = 0.01
    """Standard deviation of convolution weights at initialization."""
    heatmap_init_std: float = 0.01
    """Initial standard deviation of the heatmap's weights; with larger ones, edges are proposed
    from step 0."""
    feature_init_gain: float = 1.0
    """Factor on the initial weights of feature means; larger ones separate appearances sooner."""
    color_skip_gain: float = 0.0
    """Gain of a linear skip connection for color, glimpse to features to glimpse; 0: none. With it,
    colors are separated and reconstructed within some hundred steps, and unseen colors lie between
    known ones."""
    zero_init_heads: bool = False
    """Whether heads start at zero: positions and sizes at their anchors, small noise."""
    offset_init_std: float = 0.01
    """With zero_init_heads: initial standard deviation of positions."""
    scale_init_std: float = 0.1
    """With zero_init_heads: initial standard deviation of scale logits."""
    feature_init_std: float = 0.01
    """With zero_init_heads: initial standard deviation of features."""
    relative_scale: bool = False
    """Whether scales are predicted relative to the logit of the glimpse's own size."""
    bounded_beta: bool = False
    """Whether opacity has one bounded logit instead of two free concentrations."""
    sample_beta: bool = True
    """Whether training samples opacity; its mean is less noisy: particles do not flicker."""
    compositing: Literal["canvas", "patch"] = "canvas"
    """Where alpha is squared: on a canvas per particle (exact), or before one summed paste."""
    appearance_box_grad: bool = True
    """Whether gradients of the appearance encoder reach positions and scales."""

    offset_prior_std: float = 0.2
    """Prior standard deviation of offsets."""
    box_size_prior: float = 0.1875
    """Prior size of a particle as a fraction of the image's side; its logit is the mean scale."""
    scale_prior_std: float = 0.3
    """Prior standard deviation of scale logits."""
    beta_prior: float = 0.1
    """Both concentrations of opacity's Beta prior."""

    kl_weight: float = 0.1
    """Weight of all terms below against the sum of squared pixel errors."""
    chamfer_weight: float = 1.0
    """Weight of the Chamfer distance between anchors and proposals."""
    depth_kl_weight: float = 1.0
    """Weight of depth's KL divergence."""
    feature_kl_weight: float = 0.001
    """Weight of the KL divergences of features and background."""
    kl_by_opacity: bool = False
    """Whether a particle's KL divergences are weighted by its opacity: invisible ones cost none."""
    proposal_jitter: float = 0.0
    """Largest random shift of proposals in training, so that positions do not depend on them."""
    centering_weight: float = 0.0
    """Weight of the squared pixels from a particle's position to the middle of what it draws."""
    heatmap_weight: float = 0.0
    """Proposer 'heatmap': weight of the heatmap's loss."""
    particle_cost: float = 0.0
    """Cost of each visible particle, in squared pixel error. Not scaled by `kl_weight`."""

    warmup_steps: int = 8_000
    """Steps in which only appearance is learned, from glimpses alone."""
    noisy_steps: int = 16_000
    """Steps with random scales and noisy masks; they include the warm-up."""
    scale_jitter: float = 0.3
    """Standard deviation of scale logits in noisy steps."""
    mask_jitter: float = 0.1
    """Standard deviation of the noise on alpha in noisy steps."""

    opacity_threshold: float = 0.5
    """Smallest opacity of a visible entity."""
    keep_opacity: bool = False
    """Whether opacity stays a feature of the entity (the released code drops it)."""
    keep_scale: bool = True
    """Whether scale is a feature of the entity."""
    keep_depth: bool = True
    """Whether depth is a feature of the entity."""

    def __post_init__(self) -> None:
        """Refuse sizes that do not fit each other."""
        require(
            self.patch_size > 1 and self.image_size % self.patch_size == 0,
            f"image_size ({self.image_size} px) must be a multiple of patch_size "
            f"({self.patch_size} px).",
        )
        require(
            1 <= self.num_particles <= self.num_proposals <= self.num_patches,
            f"{self.num_patches} patches give {self.num_proposals} proposals, and these give "
            f"{self.num_particles} particles: each number must be at most the one before.",
        )
        require(
            self.feature_dim >= 1, f"A particle needs at least 1 feature, not {self.feature_dim}."
        )
        require(
            self.attribute_passes in (1, 2),
            f"There are 1 or 2 attribute passes, not {self.attribute_passes}.",
        )
        require(
            self.decoder_side << self.num_upsamplings == self.glimpse_size,
            f"The decoder's {self.decoder_side} px cannot be doubled to {self.glimpse_size} px.",
        )
        require(
            self.num_upsamplings <= len(self.decoder_convs),
            f"To reach {self.glimpse_size} px the decoder needs at least {self.num_upsamplings} "
            "convolutions.",
        )
        require(
            0 < self.box_size_prior < 1,
            f"box_size_prior is a fraction in (0, 1), not {self.box_size_prior}.",
        )
        require(
            self.background == "image" or self.image_size in (64, 128, 256, 512),
            "A convolutional background draws images of 64, 128, ... px; "
            f"for {self.image_size} px use background='image'.",
        )

    @property
    def num_patches(self) -> int:
        """Patches of an image."""
        return (self.image_size // self.patch_size) ** 2

    @property
    def dropped_attributes(self) -> tuple[str, ...]:
        """Attributes left out of the entities' features."""
        kept = {"scale": self.keep_scale, "depth": self.keep_depth, "opacity": self.keep_opacity}
        return tuple(name for name, keep in kept.items() if not keep)

    @property
    def glimpse_ratio(self) -> float:
        """Size of a glimpse as a fraction of the image's side."""
        return self.glimpse_size / self.image_size

    @property
    def num_upsamplings(self) -> int:
        """How often the glimpse decoder doubles the size."""
        return (self.glimpse_size // self.decoder_side).bit_length() - 1


PAPER_DLP = DLPConfig()
"""The model of the paper's experiments, as in its released code."""
LITE_DLP = DLPConfig(
    proposer="heatmap",
    num_proposals=24,
    glimpse_size=16,
    attribute_passes=1,
    max_offset=0.25,
    glimpse_convs=((16, 1), (32, 2), (64, 2)),
    glimpse_maps=0,
    bottleneck=0,
    trunk=(128, 128),
    decoder_hidden=128,
    decoder_side=4,
    decoder_convs=(32, 16),
    decoder_kernel=3,
    background="image",
    padding="zeros",
    border="edge",
    norm_eps=1e-5,
    conv_init_std=0.1,
    heatmap_init_std=0.1,
    color_skip_gain=10.0,
    zero_init_heads=True,
    relative_scale=True,
    bounded_beta=True,
    sample_beta=False,
    compositing="patch",
    appearance_box_grad=False,
    offset_prior_std=0.1,
    box_size_prior=10 / 128,
    scale_prior_std=0.4,
    beta_prior=0.03,
    chamfer_weight=0.0,
    feature_kl_weight=0.01,
    kl_by_opacity=True,
    proposal_jitter=0.03,
    centering_weight=10.0,
    heatmap_weight=0.5,
    particle_cost=8.0,
    warmup_steps=0,
    noisy_steps=0,
)
"""The same latent particles for two cores: a fraction of the compute, useful from the start."""
