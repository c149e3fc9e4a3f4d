"""The playground: a page in the browser on which one plays with a running simulation."""
