"""Tags of particles: what they are for, when they are refused, and what is learned from them."""

import json
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from experiments import small_encoder  # noqa: E402
from jostle.core.errors import BadValueError  # noqa: E402
from jostle.core.object_classifier import load_classifier  # noqa: E402
from jostle.probing.motion_labels import UNKNOWN  # noqa: E402
from jostle.training.fit_tags import (  # noqa: E402
    fit_tags,
    held_out,
    segmentation_tags,
    tag_labels,
    write_fit,
)
from jostle.training.tag_images import (  # noqa: E402
    TagConfig,
    Tags,
    make_tag_images,
    read_tag_config,
    read_tags,
    write_tags,
)
from jostle.zoo.encoders import load_encoder  # noqa: E402

FEW = TagConfig(images=3, objects=(2, 2))


@pytest.fixture(scope="module")
def small():
    """An untrained encoder and its images."""
    encoder = small_encoder()
    return encoder, make_tag_images(encoder, FEW)


@pytest.fixture
def written(small, tmp_path):
    """A file with some tags."""
    _, images = small
    tags = Tags.empty(FEW.images)
    tags.objects[1], tags.done[1] = set(images.visible(1)[:2]), True
    file = tmp_path / "tags.json"
    write_tags(file, tags, images, "small")
    return file, tags


def test_images_are_made_again_from_their_seeds_and_differ_between_scenes_and_seeds(small):
    encoder, images = small
    again = make_tag_images(encoder, FEW)
    np.testing.assert_array_equal(again.frames, images.frames)
    assert images.places == [(0, 0), (0, 1), (1, 0)]
    assert len({images.frame_hash(index) for index in range(3)}) == 3
    other = make_tag_images(encoder, replace(FEW, seed=1))
    assert not set(other.seeds) & set(images.seeds)
    assert other.frame_hash(0) != images.frame_hash(0)


def test_tags_survive_their_file_which_holds_no_pixels(small, written):
    _, images = small
    file, tags = written
    assert read_tags(file, images) == tags
    assert read_tag_config(file) == ("small", FEW)
    rows = json.loads(file.read_text())["images"]
    assert set(rows[0]) == {"episode", "step", "camera", "frame", "done", "objects"}
    assert len(file.read_text()) < 2000


def test_tags_of_another_encoder_or_for_other_images_are_refused(small, written):
    encoder, images = small
    file, _ = written
    with pytest.raises(BadValueError, match=r"an encoder with the hash \w+, not other"):
        read_tags(file, replace(images, encoder="other"))
    for other in (replace(FEW, seed=1), replace(FEW, images=2)):
        with pytest.raises(BadValueError, match="for other images"):
            read_tags(file, make_tag_images(encoder, other))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda text: "[1]", "holds no tags"),
        (lambda text: "nonsense", "cannot be read"),
        (lambda text: text.replace('"jostle tags"', '"something"'), "holds no tags"),
        (lambda text: text.replace('"format": 1', '"format": 2'), "format 2"),
        (lambda text: text.replace('"frame"', '"frames"'), "no tags that can be read"),
        (lambda text: text.replace('"objects": []', '"objects": [99]', 1), "not visible"),
    ],
)
def test_files_that_hold_no_tags_are_refused(small, written, change, why):
    _, images = small
    file, _ = written
    file.write_text(change(file.read_text()))
    with pytest.raises(BadValueError, match=why):
        read_tags(file, images)


def test_tags_of_one_kind_teach_nothing(small):
    _, images = small
    tags = Tags.empty(FEW.images)
    with pytest.raises(BadValueError, match="name no object"):
        fit_tags(images, tags)
    tags.objects = [set(images.visible(index)) for index in range(FEW.images)]
    tags.done = [True] * FEW.images
    with pytest.raises(BadValueError, match="name no other particle"):
        fit_tags(images, tags)


def test_encoders_without_features_of_particles_are_refused():
    with pytest.raises(BadValueError, match="Only particles can be tagged"):
        make_tag_images(load_encoder("vae-123cubes"), FEW)


def test_twenty_tagged_images_distinguish_objects_from_the_arm(tmp_path):
    encoder, config = load_encoder("dlp-6cubes"), TagConfig()
    images = make_tag_images(encoder, config)
    tags = segmentation_tags(encoder, images)
    classifier = fit_tags(images, tags)
    scores = held_out(encoder, config).accuracy(classifier)
    assert min(scores.values()) > 0.96, scores
    fitted = write_fit(tmp_path / "classifier.safetensors", classifier, tags, scores)
    assert (fitted["images"], fitted["objects"]) == (20, sum(map(len, tags.objects)))
    loaded = load_classifier(tmp_path / "classifier.safetensors")
    loaded.check_encoder(images.encoder)


def test_images_that_are_not_done_teach_nothing(small):
    _, images = small
    tags = Tags.empty(FEW.images)
    tags.objects = [set(images.visible(0)[:1]), set(images.visible(1)[:1]), set()]
    tags.done[0] = True
    labels = tag_labels(images, tags)
    assert (labels[0, 0, images.visible(0)] != UNKNOWN).all()
    assert (labels[0, 1] == UNKNOWN).all()
    assert (labels[1] == UNKNOWN).all()
