"""Images to entities: deep latent particles and two baselines, a VAE and Slot Attention."""
