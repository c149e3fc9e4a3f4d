"""Tables, plots, images and videos of results."""
