"""The paper's theory as code: exact models, bounds, instances that break them, measurements."""
