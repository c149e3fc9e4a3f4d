"""Deep latent particles: frames to particles, particles to frames, and what training minimizes."""

from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from jostle.core.entities import Entities
from jostle.core.particles import Particles, shown_width
from jostle.particles.background import BackgroundDecoder, BackgroundEncoder, BackgroundImages
from jostle.particles.beliefs import Normal, chamfer
from jostle.particles.blocks import start
from jostle.particles.compose import GlimpseDecoder, compose, off_center
from jostle.particles.config import DLPConfig
from jostle.particles.field import FieldPrior, heat_loss, wanted_heat
from jostle.particles.frames import frames_of, images_of
from jostle.particles.glimpse import boxes_mask, crop
from jostle.particles.posterior import Found, ParticleEncoder, logit

Phase = Literal["warmup", "noisy", "normal"]


class Drawn(NamedTuple):
    """One sample of everything, and the picture that it makes."""

    found: Found
    features: Normal
    background: Normal | None
    particles: Particles
    glimpses: Tensor
    """Where the appearance encoder looked, (N, K, 3, S, S)."""
    decoded: Tensor
    """What the decoder drew, (N, K, 4, S, S)."""
    picture: Tensor | None
    """(N, 3, H, W); not drawn in the warm-up."""
    behind: Tensor | None
    """The background of the picture, (N, 3, H, W)."""


class DLP(nn.Module):
    """The model; `encode` is what agents use, everything else is for training and reports."""

    def __init__(self, config: DLPConfig) -> None:
        """Build by `config`; weights come from torch's global stream."""
        super().__init__()
        self.config = config
        self.encoder = ParticleEncoder(config)
        self.decoder = GlimpseDecoder(config)
        conv = config.background == "conv"
        self.background_encoder = BackgroundEncoder(config) if conv else None
        self.background_decoder = BackgroundDecoder(config) if conv else None
        self.background_images = None if conv else BackgroundImages(config)
        start(self, config.conv_start)
        nn.init.normal_(self.encoder.prior.heat.weight, 0.0, config.heat_start)
        if isinstance(self.encoder.prior, FieldPrior):
            self.encoder.prior.start()

    @property
    def shape(self) -> tuple[int, int]:
        """Entities per view and width of an entity."""
        return self.config.particles, self.config.features + shown_width(self.config.hidden)

    @torch.no_grad()
    def particles(self, frames: Tensor, above: float = 0.0) -> Particles:
        """Particles (B, V, K, D) of frames (B, V, H, W, 3): all columns, raw, no sampling.

        Features of those with a transparency below `above` are left at zero.
        """
        images = images_of(frames, self.config.image)
        values = self.encoder.particles(images, above).values  # (B*V, K, D)
        return Particles(values.view(*frames.shape[:2], *values.shape[1:]))

    def encode(self, frames: Tensor) -> Entities:
        """Entities (B, V, K, D) of frames (B, V, H, W, 3) uint8; deterministic."""
        particles = self.particles(frames, self.config.visible_above)
        return particles.entities(self.config.visible_above, self.config.hidden)

    @torch.no_grad()
    def reconstruct(self, frames: Tensor) -> Tensor:
        """What the particles of frames (B, V, H, W, 3) uint8 look like, in the same form."""
        images, views = images_of(frames, self.config.image), frames.shape[1]
        particles = self.encoder.particles(images)
        belief = self._background_belief(images, particles)
        background = self._background(images, views, belief.mean if belief else None)
        decoded = self.decoder(particles.features)
        return frames_of(compose(decoded, particles, background, self.config), views)

    def begin(self, frames: Tensor, sceneries: Tensor | None = None) -> None:
        """Before training: set learned backgrounds to medians of frames (B, V, H, W, 3).

        Args:
            frames: Some of those to train on.
            sceneries: In which scenery each was taken, (B,); all in one by default.
        """
        if self.background_images is not None:
            images = images_of(frames, self.config.image)
            if sceneries is None:
                sceneries = torch.zeros(len(frames), dtype=torch.long)
            self.background_images.begin(
                images.view(*frames.shape[:2], *images.shape[1:]), sceneries
            )

    def phase(self, step: int) -> Phase:
        """Which phase of training a step belongs to."""
        if step < self.config.warmup_steps:
            return "warmup"
        return "noisy" if step < self.config.noisy_steps else "normal"

    def loss(
        self, frames: Tensor, step: int, rng: torch.Generator | None = None
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """What training step number `step` minimizes, and its parts for the log."""
        images = images_of(frames, self.config.image)
        drawn = self._draw(images, frames.shape[1], self.phase(step), rng)
        terms = self._divergences(drawn)
        on = drawn.particles.transparency.sum(1)  # (N,)
        if drawn.picture is None:
            on = on.detach()
        crowd = on.mean()
        if drawn.picture is None:
            image = (drawn.glimpses - drawn.decoded[:, :, 1:]).square().sum((2, 3, 4)).mean()
        else:
            error = (images - drawn.picture).square().sum(1, keepdim=True)  # (N, 1, H, W)
            image = error.sum((1, 2, 3)).mean()
            if drawn.found.heat is not None:
                wanted = wanted_heat(drawn.particles, error)
                terms["heat"] = heat_loss(drawn.found.heat, wanted)
        weights = self._weights()
        divergence = torch.stack([weights[name] * term for name, term in terms.items()]).sum()
        total = image + self.config.kl * divergence + self.config.crowd * crowd
        health = {
            "on": crowd,
            "box": drawn.particles.boxes.mean(),
            "beta_on": drawn.found.transparency.on.mean(),
            "beta_off": drawn.found.transparency.off.mean(),
        }
        log = {"loss": total, "pixels": image, **terms, **health}
        return total, {name: value.detach() for name, value in log.items()}

    def _draw(self, images: Tensor, views: int, phase: Phase, rng: torch.Generator | None) -> Drawn:
        config = self.config
        found = self.encoder.find(images, config.shake, rng)
        place, scale = found.place.sample(rng), found.scale.sample(rng)
        depth, beta = found.depth.sample(rng)[..., 0], found.transparency
        transparency = beta.sample(rng) if config.sample_beta else beta.mean
        if phase == "warmup":
            place = place.detach()
        if phase != "normal":
            noise = torch.empty_like(scale).normal_(generator=rng)
            scale = logit(config.anchor) + config.scale_jitter * noise
        moved = (place, scale) if config.appearance_moves else (place.detach(), scale.detach())
        looks, glimpses = self.encoder.look(images, *moved)
        features = looks.sample(rng)
        particles = Particles.join(place, scale, depth, features, transparency)
        belief = self._background_belief(images, particles)
        decoded = self.decoder(features)
        seen = behind = None
        if phase != "warmup":
            behind = self._background(images, views, belief.sample(rng) if belief else None)
            jitter = config.mask_jitter if phase == "noisy" else 0.0
            seen = compose(decoded, particles, behind, config, jitter, rng)
        return Drawn(found, looks, belief, particles, glimpses, decoded, seen, behind)

    def _background_belief(self, images: Tensor, particles: Particles) -> Normal | None:
        if self.background_encoder is None:
            return None
        size = (self.config.image, self.config.image)
        with torch.no_grad():
            place, weight = particles.place, particles.transparency
            covered = boxes_mask(place, weight, self.config.glimpse, size).clamp(0, 1)
            masked = images * (1 - covered)
        return self.background_encoder(masked)

    def _background(self, images: Tensor, views: int, latents: Tensor | None) -> Tensor:
        if self.background_decoder is not None:
            return self.background_decoder(latents)
        assert self.background_images is not None
        return self.background_images(images, views)

    def _divergences(self, drawn: Drawn) -> dict[str, Tensor]:
        config, found = self.config, drawn.found
        mean = logit(config.box_prior)
        each = {
            "offset": found.offset.divergence(0.0, config.offset_prior),
            "scale": found.scale.divergence(mean, config.scale_prior),
            "depth": found.depth.divergence(0.0, 1.0),
            "features": drawn.features.divergence(0.0, 1.0),
        }  # (N, K) each
        if config.by_transparency:
            there = drawn.particles.transparency
            if drawn.picture is None:  # nothing speaks for being there yet
                there = there.detach()
            each = {name: term * there for name, term in each.items()}
        each["transparency"] = found.transparency.divergence(config.beta_prior)
        if config.center:
            each["center"] = off_center(self._change(drawn), drawn.particles, config.image)
        terms = {name: term.sum(1).mean() for name, term in each.items()}
        if config.chamfer:
            terms["chamfer"] = chamfer(found.anchors, found.proposals.detach()).mean()
        if drawn.background is not None:
            terms["background"] = drawn.background.divergence(0.0, 1.0).mean()
        return terms

    @torch.no_grad()
    def _change(self, drawn: Drawn) -> Tensor:
        """How much each pixel that particles draw differs from what is behind, (N, K, S, S)."""
        config, (place, boxes) = self.config, (drawn.particles.place, drawn.particles.boxes)
        alpha, color = drawn.decoded[:, :, 0], drawn.decoded[:, :, 1:]
        if drawn.behind is None:
            return alpha
        behind = crop(drawn.behind, place, boxes, config.glimpse, config.border)
        return alpha * (color - behind).abs().sum(2)

    def _weights(self) -> dict[str, float]:
        config = self.config
        return {
            "chamfer": config.chamfer,
            "offset": 1.0,
            "scale": 1.0,
            "depth": config.depth,
            "transparency": 1.0,
            "features": config.balance,
            "background": config.balance,
            "center": config.center,
            "heat": config.heat,
        }
