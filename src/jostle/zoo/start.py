"""Start the training of an agent whose encoder, weights and teacher are given by name."""

from jostle.presets.words import TrainConfig
from jostle.runs.trainer import Report, Training
from jostle.training.start import start_run
from jostle.zoo.agents import find_weights, load_teacher
from jostle.zoo.encoders import check_cameras, load_encoder


def start_training(config: TrainConfig, report: Report) -> Training:
    """Start the run that the words of `jostle train` describe."""
    experiment = config.experiment
    if experiment.encoder:
        check_cameras(experiment.encoder, experiment.cameras)
    return start_run(
        experiment,
        config.out / f"{experiment.name}-{experiment.seed}",
        report,
        None if config.start is None else find_weights(config.start),
        config.carry if config.critics_from is None else find_weights(config.critics_from),
        load_teacher,
        load_encoder,
    )
