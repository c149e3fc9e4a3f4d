"""Learn to see: one loop for every encoder, from frames on disk. No simulator here."""
