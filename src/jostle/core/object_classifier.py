"""Which particles show objects: a small network on their features, for numpy alone."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jostle.core.errors import BadValueError, require

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class ObjectClassifier:
    """A multilayer perceptron with tanh units; a positive output means: an object."""

    mean: Floats
    """Mean of the features, (F,)."""
    std: Floats
    """Their standard deviation, (F,)."""
    layers: tuple[tuple[Floats, Floats], ...]
    """Weights (in, out) and biases (out,) of each layer; the last has one output."""
    same_color: float
    """Squared distance of features below which two particles look alike."""
    encoder: str
    """Hash of the encoder whose features it reads."""

    def __post_init__(self) -> None:
        """Refuse weights that do not fit together."""
        width = len(self.mean)
        require(len(self.std) == width, "Mean and standard deviation have different lengths.")
        for weight, bias in self.layers:
            require(
                weight.shape == (width, len(bias)),
                f"A layer of the classifier has weights {weight.shape}, not ({width}, "
                f"{len(bias)}).",
            )
            width = len(bias)
        require(width == 1, f"The classifier has {width} outputs, not 1.")
        require(
            math.isfinite(self.same_color) and self.same_color > 0,
            f"same_color is a positive squared distance, not {self.same_color}.",
        )

    def logits(self, features: Floats) -> Floats:
        """How likely features (..., F) show an object, (...): more than 0 means yes."""
        if features.shape[-1] != len(self.mean):
            raise BadValueError(
                f"The classifier reads {len(self.mean)} features, these particles have "
                f"{features.shape[-1]}. It belongs to another encoder."
            )
        x: Floats = (features - self.mean) / self.std
        for weight, bias in self.layers[:-1]:
            x = np.tanh(x @ weight + bias).astype(np.float32)  # (..., hidden)
        weight, bias = self.layers[-1]
        outputs: Floats = (x @ weight + bias)[..., 0]
        return outputs

    def __call__(self, features: Floats) -> NDArray[np.bool_]:
        """Which particles with features (..., F) show an object, (...)."""
        kept: NDArray[np.bool_] = self.logits(features) > 0
        return kept

    def check_encoder(self, digest: str) -> None:
        """Refuse features of another encoder."""
        if digest != self.encoder:
            raise BadValueError(
                f"The classifier of objects was fitted to an encoder with the hash "
                f"{self.encoder}, not {digest}. Fit one for this encoder: "
                "jostle.training.fit_objects.fit_object_classifier."
            )


def classifier_to_json(classifier: ObjectClassifier) -> dict[str, Any]:
    """A classifier as plain data, for the files of agents that need one to act."""
    layers = [(weight.tolist(), bias.tolist()) for weight, bias in classifier.layers]
    return {
        "mean": classifier.mean.tolist(),
        "std": classifier.std.tolist(),
        "layers": layers,
        "same_color": classifier.same_color,
        "encoder": classifier.encoder,
    }


def classifier_from_json(content: dict[str, Any]) -> ObjectClassifier:
    """Undo `classifier_to_json`."""

    def floats(numbers: Any) -> Floats:
        return np.array(numbers, np.float32)

    layers = tuple((floats(weight), floats(bias)) for weight, bias in content["layers"])
    mean, std = floats(content["mean"]), floats(content["std"])
    return ObjectClassifier(mean, std, layers, content["same_color"], content["encoder"])


def save_classifier(path: Path, classifier: ObjectClassifier, meta: dict[str, Any]) -> None:
    """Write a classifier as safetensors."""
    import torch

    from jostle.core.checkpoint import save

    arrays = {"mean": classifier.mean, "std": classifier.std}
    for number, (weight, bias) in enumerate(classifier.layers):
        arrays |= {f"layers.{number}.weight": weight, f"layers.{number}.bias": bias}
    own = {
        "encoder": classifier.encoder,
        "same_color": classifier.same_color,
        "layers": len(classifier.layers),
    }
    tensors = {name: torch.from_numpy(np.ascontiguousarray(x)) for name, x in arrays.items()}
    save(path, tensors, {**meta, "object_classifier": own})


def load_classifier(path: Path) -> ObjectClassifier:
    """Read what `save_classifier` wrote."""
    from jostle.core.checkpoint import load

    tensors, meta = load(path)
    if "object_classifier" not in meta:
        raise BadValueError(f"{path} holds no classifier of objects.")
    own = meta["object_classifier"]
    arrays = {name: tensor.numpy() for name, tensor in tensors.items()}
    return ObjectClassifier(
        mean=arrays["mean"],
        std=arrays["std"],
        layers=tuple(
            (arrays[f"layers.{number}.weight"], arrays[f"layers.{number}.bias"])
            for number in range(own["layers"])
        ),
        same_color=float(own["same_color"]),
        encoder=own["encoder"],
    )
