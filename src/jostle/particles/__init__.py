"""Pixels to entities: deep latent particles and their rivals. No simulator here."""
