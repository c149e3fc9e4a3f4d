"""The page on which particles are tagged: images with their particles, tags, and the fit."""

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from jostle.core.entities import Entities
from jostle.core.errors import JostleError, require
from jostle.playground.inspection import places_of
from jostle.playground.messages import Reply, Steer, error, parse_as
from jostle.playground.server import PAGE
from jostle.playground.views import VIEW_SIZE, encode
from jostle.training.fit_tags import HeldOut, fit_tags, write_fit
from jostle.training.tag_images import TagImages, Tags, write_tags

TAG_PAGES = (Path(__file__).parent / "tag_page", PAGE)
"""Folders of the page's files; style and connection are those of the playground."""
_ENLARGED = 2 * VIEW_SIZE
"""Height and width of an image as it is sent."""


@dataclass(frozen=True)
class Tag:
    """Say whether a particle of an image shows an object."""

    image: int
    particle: int
    on: bool


@dataclass(frozen=True)
class Done:
    """Say that an image was looked at, or that it was not."""

    image: int
    done: bool


@dataclass(frozen=True)
class Fit:
    """Fit the classifier to the images that are done."""


_TYPES = {"steer": Steer, "tag": Tag, "done": Done, "fit": Fit}


def parse_tag_message(text: str | bytes) -> Any:
    """Read one message of the page; anything else is refused by one sentence."""
    return parse_as(text, _TYPES)


class TagSession:
    """Keeps the tags: each change is saved at once, and the last image is followed by a fit."""

    def __init__(
        self,
        images: TagImages,
        tags: Tags,
        encoder: str,
        files: tuple[Path, Path],
        judge: Callable[[], HeldOut],
        publish: Callable[[str, str | bytes], None],
    ) -> None:
        """Start with tags that may have been made before.

        Args:
            images: What is shown.
            tags: Tags so far.
            encoder: Name of the encoder.
            files: Where tags and classifier are written.
            judge: Makes the particles that accuracy is measured on; called before the first fit.
            publish: Sends data to all browsers.
        """
        self._images, self.tags, self._encoder = images, tags, encoder
        self._file, self._out = files
        self._judge, self._publish = judge, publish
        self._held_out: HeldOut | None = None
        self._fitting: threading.Thread | None = None

    # What the server calls

    def start(self) -> None:
        """Publish the images and the tags."""
        self._publish("setup", json.dumps(self._setup()))
        for index, (scene, view) in enumerate(self._images.places):
            frame = Image.fromarray(self._images.frames[scene, view])
            large = frame.resize((_ENLARGED, _ENLARGED), Image.Resampling.BICUBIC)
            self._publish(f"image{index}", bytes((0, index)) + encode([np.asarray(large)])[0])
        self._publish_tags()

    def stop(self) -> None:
        """Wait for a fit that is under way."""
        if self._fitting is not None:
            self._fitting.join()

    def watch(self, watched: bool) -> None:
        """Nothing runs by itself."""

    def submit(self, message: Any, reply: Reply) -> None:
        """Change a tag, mark an image as done, or fit."""
        try:
            if isinstance(message, Tag):
                self._tag(message)
            elif isinstance(message, Done):
                self._mark(message)
            elif isinstance(message, Fit):
                self._start_fit()
        except (JostleError, OSError) as problem:
            reply(error(str(problem)))
            self._publish_tags()  # the page shows what is kept

    # Tags

    def _tag(self, message: Tag) -> None:
        self._check(message.image)
        require(
            message.particle in self._images.visible(message.image),
            f"Image {message.image + 1} shows no particle {message.particle}.",
        )
        tagged = self.tags.objects[message.image]
        if message.on:
            tagged.add(message.particle)
        else:
            tagged.discard(message.particle)
        self._save()

    def _mark(self, message: Done) -> None:
        self._check(message.image)
        last = message.done and sum(self.tags.done) == len(self.tags.done) - 1
        finished = last and not self.tags.done[message.image]
        self.tags.done[message.image] = message.done
        self._save()
        if finished:
            self._start_fit()

    def _check(self, image: int) -> None:
        count = len(self.tags.done)
        require(0 <= image < count, f"There are images 0 to {count - 1}, not {image}.")

    def _save(self) -> None:
        write_tags(self._file, self.tags, self._images, self._encoder)
        self._publish_tags()

    # The fit

    def _start_fit(self) -> None:
        """Fit on another thread, so that the page answers meanwhile."""
        running = self._fitting is not None and self._fitting.is_alive()
        require(not running, "The classifier is being fitted already.")
        self._publish("fit", json.dumps({"type": "fit", "running": True}))
        tags = Tags([set(tagged) for tagged in self.tags.objects], list(self.tags.done))
        self._fitting = threading.Thread(target=self._fit, args=(tags,), daemon=True)
        self._fitting.start()

    def _fit(self, tags: Tags) -> None:
        result: dict[str, Any] = {"type": "fit", "running": False, "error": ""}
        try:
            classifier = fit_tags(self._images, tags)
            if self._held_out is None:
                self._held_out = self._judge()
            scores = self._held_out.accuracy(classifier)
            result |= write_fit(self._out, classifier, tags, scores) | {"path": str(self._out)}
        except (JostleError, OSError) as problem:
            result["error"] = str(problem)
        self._publish("fit", json.dumps(result))

    # What browsers get

    def _setup(self) -> dict[str, Any]:
        cameras = self._images.config.cameras
        return {
            "type": "setup",
            "task": self._images.config.task,
            "encoder": self._encoder,
            "tags_file": str(self._file),
            "images": [
                {"scene": scene, "camera": cameras[view], "particles": self._boxes(index)}
                for index, (scene, view) in enumerate(self._images.places)
            ],
        }

    def _boxes(self, image: int) -> list[list[float]]:
        """Number, x, y, half width and half height of the visible particles of an image."""
        scene, view = self._images.places[image]
        one = Entities(*(array[scene : scene + 1] for array in self._images.particles))
        places = places_of(one, self._images.layout, self._images.frames.shape[2])[view]
        return [
            [number, *np.round(places[number], 4).tolist()]
            for number in self._images.visible(image)
        ]

    def _publish_tags(self) -> None:
        content = {
            "type": "tags",
            "objects": [sorted(tagged) for tagged in self.tags.objects],
            "done": self.tags.done,
        }
        self._publish("tags", json.dumps(content))
