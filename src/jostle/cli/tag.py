"""`jostle tag`: say which particles are objects, in the browser, and fit the classifier."""

import webbrowser
from dataclasses import dataclass
from pathlib import Path

import tyro

from jostle.cli.web_page import has_display, listen, print_address
from jostle.core.checks import check_int, check_output
from jostle.core.errors import require
from jostle.core.extras import require_packages
from jostle.tasks.catalog import TASKS


@dataclass(frozen=True, kw_only=True)
class TagCommand:
    """Click the particles that are objects in about 20 images, and fit the classifier to them."""

    encoder: str | None = None
    """Encoder with particles: a name of the zoo, a run or a file; by default dlp-6cubes, with --fit
    the one that was tagged."""
    task: str = "NCubes"
    """Task of the catalog whose objects are shown."""
    objects: tuple[int, int] | None = None
    """Least and largest number of objects; by default 1 to 6 of NCubes, else the task's own."""
    colors: str = "random"
    """Colors of the objects: fixed, or random."""
    images: int = 20
    """Number of images; every scene is shown by each camera."""
    cameras: tuple[str, ...] = ("front", "side")
    """Cameras, those that the encoder was trained on."""
    seed: int = 0
    """Seed of the scenes."""
    tags: Path = Path("tags.json")
    """File of the tags: written after every click; if it is there, tagging resumes."""
    fit: Path | None = None
    """Fit to the tags in this file, without a page."""
    out: Path = Path("classifier.safetensors")
    """File of the classifier."""
    host: str = "127.0.0.1"
    """Address to listen at; others than this machine reach it only if you give another one."""
    port: int = 0
    """Port to listen at; 0 takes a free one."""
    browser: bool = True
    """Open the page in a browser, if there is one."""

    def __post_init__(self) -> None:
        """Refuse values out of range."""
        _ = TASKS[self.task]
        for name, least in (("images", 1), ("seed", 0), ("port", 0)):
            check_int(name, getattr(self, name), least)
        require(self.port < 65536, f"A port is at most 65535, not {self.port}.")


def run(argv: list[str]) -> None:
    """Serve the page until Ctrl-C, or fit to tags that are there."""
    command = tyro.cli(TagCommand, prog="jostle tag", args=argv)
    require_packages("Tagging", "torch", "safetensors")
    for path in (command.tags, command.out):
        check_output(path)
    if command.fit is not None:
        _fit(command, command.fit)
        return
    require_packages("Tagging", "starlette", "uvicorn", "websockets", "PIL")
    listening = listen(command.host, command.port)
    with listening:
        from jostle.playground.serve import WebServer
        from jostle.playground.tagging import TAG_PAGES, TagSession, parse_tag_message
        from jostle.training.fit_tags import held_out
        from jostle.training.tag_images import TagConfig, Tags, make_tag_images, read_tags
        from jostle.zoo.encoders import check_cameras, load_encoder

        name = command.encoder or "dlp-6cubes"
        check_cameras(name, command.cameras)
        config = TagConfig(
            task=TASKS[command.task].name, objects=command.objects, colors=command.colors,
            images=command.images, cameras=command.cameras, seed=command.seed,
        )  # fmt: skip
        encoder = load_encoder(name)
        images = make_tag_images(encoder, config)
        tags = Tags.empty(config.images)
        if command.tags.exists():
            tags = read_tags(command.tags, images)
            print(f"{command.tags}: {sum(tags.done)} of {config.images} images are done.")
        web = WebServer(command.host, None, TAG_PAGES, parse_tag_message)
        session = TagSession(
            images, tags, name, (command.tags, command.out), lambda: held_out(encoder, config),
            web.server.publish,
        )  # fmt: skip
        address = web.address(listening)
        port = listening.getsockname()[1]
        print_address("Tagging", "tag", command.host, address, port)
        if command.browser and has_display():
            webbrowser.open(address)
        web.run(session, listening)


def _fit(command: TagCommand, file: Path) -> None:
    """Make the tagged images again, and fit to their tags."""
    from jostle.training.fit_tags import fit_tags, held_out, write_fit
    from jostle.training.tag_images import make_tag_images, read_tag_config, read_tags
    from jostle.zoo.encoders import load_encoder

    name, config = read_tag_config(file)
    encoder = load_encoder(command.encoder or name)
    images = make_tag_images(encoder, config)
    tags = read_tags(file, images)
    classifier = fit_tags(images, tags)
    scores = held_out(encoder, config).accuracy(classifier)
    fitted = write_fit(command.out, classifier, tags, scores)
    print(
        f"{command.out}: fitted to {fitted['images']} images with {fitted['objects']} tagged "
        f"particles. On other episodes it keeps {scores['object_accuracy']:.1%} of the particles "
        f"on objects and leaves out {scores['other_accuracy']:.1%} of those on the arm."
    )
