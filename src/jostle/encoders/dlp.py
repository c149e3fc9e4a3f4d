"""Deep latent particles: frames to particles, particles to frames, and the training loss.

N images (B scenes × V views), K particles, S × S pixels of a glimpse, l features.
"""

from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from jostle.core.entities import Entities, EntityLayout
from jostle.core.particles import Particles, entity_layout
from jostle.encoders.background import BackgroundDecoder, BackgroundEncoder, BackgroundImages
from jostle.encoders.blocks import init_weights
from jostle.encoders.compositing import GlimpseDecoder, centering_error, render
from jostle.encoders.distributions import Normal, chamfer
from jostle.encoders.dlp_config import DLPConfig
from jostle.encoders.glimpse import boxes_mask, crop
from jostle.encoders.heatmap import HeatmapPrior, heatmap_loss, heatmap_target
from jostle.encoders.images import to_frames, to_images
from jostle.encoders.posterior import ParticleEncoder, ParticlePosterior, logit

Phase = Literal["warmup", "noisy", "normal"]


class Rendering(NamedTuple):
    """One sample of all latents, and the image it renders to."""

    posterior: ParticlePosterior
    features: Normal
    """Posterior of the features, (N, K, l)."""
    background_posterior: Normal | None
    """Posterior of the background's latent; None with learned background images."""
    particles: Particles
    """The sampled particles, (N, K, D)."""
    glimpses: Tensor
    """Crops of the input that the appearance encoder read, (N, K, 3, S, S)."""
    decoded: Tensor
    """Decoded glimpses, (N, K, 4, S, S)."""
    image: Tensor | None
    """The reconstruction, (N, 3, H, W); not rendered in the warm-up."""
    background: Tensor | None
    """Its background, (N, 3, H, W)."""


class DLP(nn.Module):
    """The model; agents use `encode`, everything else is for training and reports."""

    def __init__(self, config: DLPConfig) -> None:
        """Build from `config`; weights are drawn from torch's global generator."""
        super().__init__()
        self.config = config
        self.encoder = ParticleEncoder(config)
        self.decoder = GlimpseDecoder(config)
        conv = config.background == "conv"
        self.background_encoder = BackgroundEncoder(config) if conv else None
        self.background_decoder = BackgroundDecoder(config) if conv else None
        self.background_images = None if conv else BackgroundImages(config)
        init_weights(self, config.conv_init_std)
        nn.init.normal_(self.encoder.prior.heatmap.weight, 0.0, config.heatmap_init_std)
        if isinstance(self.encoder.prior, HeatmapPrior):
            self.encoder.prior.init_weights()

    @property
    def layout(self) -> EntityLayout:
        """Which columns of an entity are what."""
        return entity_layout(self.config.feature_dim, self.config.dropped_attributes)

    @property
    def shape(self) -> tuple[int, int]:
        """Entities per view and width of an entity."""
        return self.config.num_particles, self.layout.width

    @torch.no_grad()
    def particles(self, frames: Tensor, min_opacity: float = 0.0) -> Particles:
        """Particles (B, V, K, D) of frames (B, V, H, W, 3): posterior means of all columns.

        Features of particles with an opacity below `min_opacity` are left at zero.
        """
        images = to_images(frames, self.config.image_size)
        values = self.encoder.particles(images, min_opacity).values  # (B*V, K, D)
        return Particles(values.view(*frames.shape[:2], *values.shape[1:]))

    def encode(self, frames: Tensor) -> Entities:
        """Entities (B, V, K, D) of frames (B, V, H, W, 3) uint8; deterministic."""
        threshold = self.config.opacity_threshold
        particles = self.particles(frames, threshold)
        return particles.to_entities(threshold, self.config.dropped_attributes)

    @torch.no_grad()
    def reconstruct(self, frames: Tensor) -> Tensor:
        """Reconstruct frames (B, V, H, W, 3) uint8 from their particles."""
        images, views = to_images(frames, self.config.image_size), frames.shape[1]
        particles = self.encoder.particles(images)
        posterior = self._background_posterior(images, particles)
        background = self._background(images, views, posterior.mean if posterior else None)
        decoded = self.decoder(particles.features)
        return to_frames(render(decoded, particles, background, self.config), views)

    def init_from_data(self, frames: Tensor, background_ids: Tensor | None = None) -> None:
        """Set learned background images to medians of frames (B, V, H, W, 3) before training.

        Args:
            frames: Some of the training frames.
            background_ids: Which background each scene has, (B,); one for all by default.
        """
        if self.background_images is not None:
            images = to_images(frames, self.config.image_size)
            if background_ids is None:
                background_ids = torch.zeros(len(frames), dtype=torch.long)
            self.background_images.init_from_data(
                images.view(*frames.shape[:2], *images.shape[1:]), background_ids
            )

    def phase(self, step: int) -> Phase:
        """Phase of training that a step belongs to."""
        if step < self.config.warmup_steps:
            return "warmup"
        return "noisy" if step < self.config.noisy_steps else "normal"

    def loss(
        self, frames: Tensor, step: int, rng: torch.Generator | None = None
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Loss of training step number `step`, and its terms for the log."""
        images = to_images(frames, self.config.image_size)
        rendering = self._render(images, frames.shape[1], self.phase(step), rng)
        terms = self._kl_terms(rendering)
        posterior, particles = rendering.posterior, rendering.particles

        # Cost of visible particles
        active = particles.opacity.sum(1)  # (N,)
        if rendering.image is None:
            active = active.detach()
        active_particles = active.mean()

        # Reconstruction: of glimpses in the warm-up, then of images
        if rendering.image is None:
            difference = rendering.glimpses - rendering.decoded[:, :, 1:]
            reconstruction = difference.square().sum((2, 3, 4)).mean()
        else:
            error = (images - rendering.image).square().sum(1, keepdim=True)  # (N, 1, H, W)
            reconstruction = error.sum((1, 2, 3)).mean()
            if posterior.heatmap is not None:
                target = heatmap_target(particles, error)
                terms["heatmap"] = heatmap_loss(posterior.heatmap, target)

        # Weighted sum
        weights = self._term_weights()
        weighted = torch.stack([weights[name] * term for name, term in terms.items()]).sum()
        cost = self.config.particle_cost * active_particles
        total = reconstruction + self.config.kl_weight * weighted + cost
        health = {
            "active_particles": active_particles,
            "box_size": particles.boxes.mean(),
            "opacity_concentration1": posterior.opacity.concentration1.mean(),
            "opacity_concentration0": posterior.opacity.concentration0.mean(),
        }
        log = {"loss": total, "reconstruction": reconstruction, **terms, **health}
        return total, {name: value.detach() for name, value in log.items()}

    def _render(
        self, images: Tensor, views: int, phase: Phase, rng: torch.Generator | None
    ) -> Rendering:
        """Sample all latents of images (N, 3, H, W), and render them."""
        config = self.config

        # Attributes
        posterior = self.encoder.posterior(images, config.proposal_jitter, rng)
        position, scale = posterior.position.sample(rng), posterior.scale.sample(rng)
        depth, beta = posterior.depth.sample(rng)[..., 0], posterior.opacity
        opacity = beta.sample(rng) if config.sample_beta else beta.mean
        if phase == "warmup":
            position = position.detach()
        if phase != "normal":
            noise = torch.empty_like(scale).normal_(generator=rng)
            scale = logit(config.glimpse_ratio) + config.scale_jitter * noise

        # Appearance
        box = (position, scale)
        if not config.appearance_box_grad:
            box = (position.detach(), scale.detach())
        appearance, glimpses = self.encoder.encode_appearance(images, *box)
        features = appearance.sample(rng)
        particles = Particles.from_parts(position, scale, depth, features, opacity)

        # Background and image
        background_posterior = self._background_posterior(images, particles)
        decoded = self.decoder(features)
        image = background = None
        if phase != "warmup":
            latents = background_posterior.sample(rng) if background_posterior else None
            background = self._background(images, views, latents)
            jitter = config.mask_jitter if phase == "noisy" else 0.0
            image = render(decoded, particles, background, config, jitter, rng)
        return Rendering(
            posterior, appearance, background_posterior, particles, glimpses, decoded, image,
            background,
        )  # fmt: skip

    def _background_posterior(self, images: Tensor, particles: Particles) -> Normal | None:
        """Posterior of the background's latent, from images without their particles."""
        if self.background_encoder is None:
            return None
        size = (self.config.image_size, self.config.image_size)
        with torch.no_grad():
            covered = boxes_mask(
                particles.position, particles.opacity, self.config.glimpse_size, size
            ).clamp(0, 1)
            masked = images * (1 - covered)
        return self.background_encoder(masked)

    def _background(self, images: Tensor, views: int, latents: Tensor | None) -> Tensor:
        if self.background_decoder is not None:
            return self.background_decoder(latents)
        assert self.background_images is not None
        return self.background_images(images, views)

    def _kl_terms(self, rendering: Rendering) -> dict[str, Tensor]:
        """KL divergences and other regularizers, by name."""
        config, posterior = self.config, rendering.posterior
        mean_scale = logit(config.box_size_prior)
        per_particle = {
            "offset": posterior.offset.kl_divergence(0.0, config.offset_prior_std),
            "scale": posterior.scale.kl_divergence(mean_scale, config.scale_prior_std),
            "depth": posterior.depth.kl_divergence(0.0, 1.0),
            "features": rendering.features.kl_divergence(0.0, 1.0),
        }  # (N, K) each
        if config.kl_by_opacity:
            opacity = rendering.particles.opacity
            if rendering.image is None:  # no reconstruction rewards opacity yet
                opacity = opacity.detach()
            per_particle = {name: term * opacity for name, term in per_particle.items()}
        per_particle["opacity"] = posterior.opacity.kl_divergence(config.beta_prior)
        if config.centering_weight:
            change = self._change(rendering)
            per_particle["centering"] = centering_error(
                change, rendering.particles, config.image_size
            )
        terms = {name: term.sum(1).mean() for name, term in per_particle.items()}
        if config.chamfer_weight:
            terms["chamfer"] = chamfer(posterior.anchors, posterior.proposals.detach()).mean()
        if rendering.background_posterior is not None:
            divergence = rendering.background_posterior.kl_divergence(0.0, 1.0)
            terms["background"] = divergence.mean()
        return terms

    @torch.no_grad()
    def _change(self, rendering: Rendering) -> Tensor:
        """How much each pixel of the glimpses differs from the background, (N, K, S, S)."""
        particles, config = rendering.particles, self.config
        alpha, color = rendering.decoded[:, :, 0], rendering.decoded[:, :, 1:]
        if rendering.background is None:
            return alpha
        background = crop(
            rendering.background, particles.position, particles.boxes, config.glimpse_size,
            config.border,
        )  # fmt: skip
        return alpha * (color - background).abs().sum(2)

    def _term_weights(self) -> dict[str, float]:
        """Weights of the regularizers, by name."""
        config = self.config
        return {
            "chamfer": config.chamfer_weight,
            "offset": 1.0,
            "scale": 1.0,
            "depth": config.depth_kl_weight,
            "opacity": 1.0,
            "features": config.feature_kl_weight,
            "background": config.feature_kl_weight,
            "centering": config.centering_weight,
            "heatmap": config.heatmap_weight,
        }
