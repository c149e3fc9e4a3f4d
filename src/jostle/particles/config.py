"""Sizes, priors and weights of the deep latent particle model."""

from dataclasses import dataclass
from typing import Literal

from jostle.core.errors import require

Plan = tuple[tuple[int, int], ...]
"""Convolutions one after the other: channels and stride of each."""


@dataclass(frozen=True, kw_only=True)
class DLPConfig:
    """Deep latent particles, version 2; the defaults are those of the paper's released code."""

    image: int = 128
    """Height and width of an image, in pixels."""
    patch: int = 16
    """Side of the patches that propose one place each, in pixels."""
    proposer: Literal["patches", "field"] = "patches"
    """Who proposes places: every patch alone, or the hills of one map over the whole image."""
    field_width: int = 16
    """Proposer 'field': channels of its convolutions."""
    field_reaches: tuple[int, ...] = (1, 2, 4)
    """Proposer 'field': dilation of each convolution behind the first."""
    proposals: int = 32
    """Proposals kept for the Chamfer term, those with the smallest variance."""
    particles: int = 24
    """Particles per image, at the best proposals."""
    features: int = 4
    """Appearance features per particle."""
    glimpse: int = 32
    """Side of a glimpse, in pixels: what the encoders see and the decoder draws."""
    passes: int = 2
    """Attribute passes: 2 looks again where the first pass said; 1 does not."""
    offset_range: float = 1.0
    """Furthest that one pass can move a particle; 2 is the side of the image."""

    prior_plan: Plan = ((16, 1), (16, 1), (32, 2), (32, 1), (64, 2), (64, 1))
    """Convolutions over a patch."""
    glimpse_plan: Plan = ((16, 1), (16, 1), (32, 2), (32, 1), (64, 2), (64, 1))
    """Convolutions over a glimpse, in both encoders."""
    glimpse_maps: int = 32
    """Maps of a last 1 × 1 convolution over a glimpse; 0: none."""
    bottleneck: int = 128
    """Width of a linear map without activation behind the convolutions; 0: none."""
    trunk: tuple[int, ...] = (256, 128)
    """Hidden layers before the heads of both encoders."""
    decoder_hidden: int = 256
    """Hidden layer of the glimpse decoder."""
    decoder_maps: int = 32
    """Maps at the start of the glimpse decoder."""
    decoder_side: int = 8
    """Side of these maps; it doubles until it is that of the glimpse."""
    decoder_plan: tuple[int, ...] = (64, 64, 32)
    """Channels of the glimpse decoder's convolutions; the first ones are followed by doubling."""
    decoder_kernel: Literal[1, 3] = 1
    """Kernel of its last convolution."""
    background: Literal["conv", "image"] = "conv"
    """One latent and a convolutional decoder, or learned images per camera."""
    cameras: int = 2
    """Views with a background of their own; for learned images only."""
    sceneries: int = 1
    """Learned images per camera: one for each table or other scenery that stands still."""

    padding: Literal["replicate", "zeros"] = "replicate"
    """How convolutions go beyond their input; those over patches always replicate."""
    border: Literal["zeros", "edge"] = "zeros"
    """What glimpses see beyond the image: black, or its outermost pixels."""
    norm_eps: float = 1e-4
    """Added to variances by the group norms."""
    conv_start: float = 0.01
    """Deviation of convolution weights at the start."""
    heat_start: float = 0.01
    """Deviation of the weights that make heatmaps: larger, and edges are proposed from step 0."""
    feature_gain: float = 1.0
    """Factor on the weights that make features at the start: larger, and they tell more."""
    tint: float = 0.0
    """Gain of a straight way for color, glimpse to features to glimpse; 0: none. With it colors
    are told apart, and drawn, within some hundred steps, and new colors lie between known ones."""
    zero_heads: bool = False
    """Whether heads start at zero: anchored places and sizes, small noise."""
    offset_start: float = 0.01
    """With zero heads: deviation of places at the start."""
    scale_start: float = 0.1
    """With zero heads: deviation of scale logits at the start."""
    feature_start: float = 0.01
    """With zero heads: deviation of features at the start."""
    scale_delta: bool = False
    """Whether scales are told as differences from the logit of the glimpse's own size."""
    bounded_beta: bool = False
    """Whether transparency has one bounded logit, not two free concentrations."""
    sample_beta: bool = True
    """Whether training samples transparency; its mean is calmer: particles do not flicker."""
    joint: Literal["canvas", "patch"] = "canvas"
    """Where alpha is squared: on a canvas per particle (exact), or before one summed paste."""
    appearance_moves: bool = True
    """Whether the gradient of the appearance encoder moves places and scales."""

    offset_prior: float = 0.2
    """Deviation of offsets."""
    box_prior: float = 0.1875
    """Size of a particle as a part of the image's side; the mean of scales is its logit."""
    scale_prior: float = 0.3
    """Deviation of scale logits."""
    beta_prior: float = 0.1
    """Both concentrations of transparency."""

    kl: float = 0.1
    """Weight of all that follows against the sum of squared pixel errors."""
    chamfer: float = 1.0
    """Weight of the Chamfer distance between anchors and proposals."""
    depth: float = 1.0
    """Weight of depth's divergence."""
    balance: float = 0.001
    """Weight of the divergences of features and background."""
    by_transparency: bool = False
    """Whether a particle's divergences count by its transparency: what is off costs nothing."""
    shake: float = 0.0
    """Furthest that training moves proposals at random: places must not depend on them."""
    center: float = 0.0
    """Weight of the squared pixels from a particle's place to the middle of what it draws."""
    heat: float = 0.0
    """Proposer 'field': weight of what its map learns from."""
    crowd: float = 0.0
    """What a particle costs that is there, as squared pixel error. Not times `kl`."""

    warmup_steps: int = 8_000
    """Steps in which only appearance is learnt, from glimpses alone."""
    noisy_steps: int = 16_000
    """Steps with random scales and noisy masks; they begin with the warm-up."""
    scale_jitter: float = 0.3
    """Deviation of scale logits in noisy steps."""
    mask_jitter: float = 0.1
    """Deviation of alpha in noisy steps."""

    visible_above: float = 0.5
    """Transparency from which on a particle is a visible entity."""
    keep_transparency: bool = False
    """Whether transparency stays a feature of the entity (the released code drops it)."""
    keep_scale: bool = True
    """Whether agents are told how large a particle is."""
    keep_depth: bool = True
    """Whether agents are told how deep it lies."""

    def __post_init__(self) -> None:
        """Refuse sizes that do not fit each other."""
        require(
            self.patch > 1 and self.image % self.patch == 0,
            f"The image ({self.image} px) must be a multiple of the patch ({self.patch} px).",
        )
        require(
            1 <= self.particles <= self.proposals <= self.patches,
            f"Of {self.patches} patches come {self.proposals} proposals, and of these "
            f"{self.particles} particles: each number must be at most the one before.",
        )
        require(self.features >= 1, f"A particle needs at least 1 feature, not {self.features}.")
        require(self.passes in (1, 2), f"There are 1 or 2 attribute passes, not {self.passes}.")
        require(
            self.decoder_side << self.doublings == self.glimpse,
            f"The decoder's {self.decoder_side} px cannot be doubled to {self.glimpse} px.",
        )
        require(
            self.doublings <= len(self.decoder_plan),
            f"To reach {self.glimpse} px the decoder needs at least {self.doublings} convolutions.",
        )
        require(0 < self.box_prior < 1, f"box_prior is a part in (0, 1), not {self.box_prior}.")
        require(
            self.background == "image" or self.image in (64, 128, 256, 512),
            "A convolutional background draws images of 64, 128, ... px; "
            f"for {self.image} px use background='image'.",
        )

    @property
    def patches(self) -> int:
        """Patches of an image."""
        return (self.image // self.patch) ** 2

    @property
    def hidden(self) -> tuple[str, ...]:
        """Attributes that are no features of the entity."""
        kept = {"scale": self.keep_scale, "depth": self.keep_depth}
        kept["transparency"] = self.keep_transparency
        return tuple(name for name, shown in kept.items() if not shown)

    @property
    def anchor(self) -> float:
        """Size of a glimpse as a part of the image's side."""
        return self.glimpse / self.image

    @property
    def doublings(self) -> int:
        """How often the glimpse decoder doubles."""
        return (self.glimpse // self.decoder_side).bit_length() - 1


PAPER_DLP = DLPConfig()
"""The model of the paper's experiments, as its released code has it."""
LITE_DLP = DLPConfig(
    proposer="field",
    proposals=24,
    glimpse=16,
    passes=1,
    offset_range=0.25,
    glimpse_plan=((16, 1), (32, 2), (64, 2)),
    glimpse_maps=0,
    bottleneck=0,
    trunk=(128, 128),
    decoder_hidden=128,
    decoder_side=4,
    decoder_plan=(32, 16),
    decoder_kernel=3,
    background="image",
    padding="zeros",
    border="edge",
    norm_eps=1e-5,
    conv_start=0.1,
    heat_start=0.1,
    tint=10.0,
    zero_heads=True,
    scale_delta=True,
    bounded_beta=True,
    sample_beta=False,
    joint="patch",
    appearance_moves=False,
    offset_prior=0.1,
    box_prior=10 / 128,
    scale_prior=0.4,
    beta_prior=0.03,
    chamfer=0.0,
    balance=0.01,
    by_transparency=True,
    shake=0.03,
    center=10.0,
    heat=0.5,
    crowd=8.0,
    warmup_steps=0,
    noisy_steps=0,
)
"""The same latent particles for two cores: a fraction of the compute, useful from the start."""
