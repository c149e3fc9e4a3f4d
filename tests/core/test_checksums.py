"""A flipped bit in any file of weights is one sentence, and nothing is played."""

import json
import shutil
import struct
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from safetensors.torch import save_file  # noqa: E402

from experiments import quiet, small_encoder, tiny, tiny_pixels  # noqa: E402
from jostle.core.checkpoint import CheckpointError, load, save  # noqa: E402
from jostle.core.checksums import (  # noqa: E402
    LIST,
    file_checksum,
    forget_checksum,
    read_checksums,
    record_checksum,
    verify_file,
)
from jostle.core.errors import BadValueError  # noqa: E402
from jostle.core.file_format import FORMAT  # noqa: E402
from jostle.encoders.saving import load_encoder, save_encoder  # noqa: E402
from jostle.training.load import load_agent  # noqa: E402
from jostle.training.start import resume_run, start_run  # noqa: E402
from jostle.zoo.registry import WEIGHTS_DIR  # noqa: E402

TENSORS = {
    "weights": torch.linspace(-1, 1, 30).reshape(5, 6),
    "halves": torch.ones(3, dtype=torch.bfloat16),
    "mask": torch.tensor([True, False]),
    "count": torch.tensor(7),
    "empty": torch.zeros(0, 4),
}


def data_start(path: Path) -> int:
    """Where the tensors of a safetensors file begin."""
    return 8 + struct.unpack("<Q", path.read_bytes()[:8])[0]


def flip(path: Path, byte: int, bit: int = 0) -> None:
    """Flip one bit of a file."""
    content = bytearray(path.read_bytes())
    content[byte] ^= 1 << bit
    path.write_bytes(content)


def assert_damaged(error: pytest.ExceptionInfo[BaseException], path: Path) -> None:
    """The error is one sentence that names the file."""
    text = str(error.value)
    assert f"{path} is damaged" in text
    assert "\n" not in text
    assert text.count(". ") == 0


def test_every_flipped_bit_of_the_tensors_is_detected(tmp_path):
    path = tmp_path / "a.safetensors"
    save(path, TENSORS, {"a": 1})
    loaded, meta = load(path)
    assert meta == {"a": 1}
    assert all(torch.equal(loaded[name], tensor) for name, tensor in TENSORS.items())
    start, end = data_start(path), path.stat().st_size
    for byte in range(start, end):
        flip(path, byte, byte % 8)
        try:
            load(path)
        except CheckpointError:
            pass
        else:
            pytest.fail(f"byte {byte - start} of the tensors was flipped without an error")
        flip(path, byte, byte % 8)
    load(path)


def test_changed_metadata_and_names_are_detected(tmp_path):
    path = tmp_path / "a.safetensors"
    save(path, TENSORS, {"noise": 0.05})
    for old, new in ((b"0.05", b"0.95"), (b'"weights"', b'"wejghts"')):
        content = path.read_bytes()
        assert content.count(old) == 1
        path.write_bytes(content.replace(old, new))
        with pytest.raises(CheckpointError) as caught:
            load(path)
        assert_damaged(caught, path)
        path.write_bytes(content)


def test_files_of_earlier_versions_have_no_checksum_and_are_read(tmp_path):
    path = tmp_path / "a.safetensors"
    save_file({"x": torch.ones(2)}, path, {"format": FORMAT, "meta": "{}"})
    assert torch.equal(load(path)[0]["x"], torch.ones(2))


def test_files_without_a_checksum_inside_are_compared_with_the_one_beside_them(tmp_path):
    path = tmp_path / "a.safetensors"
    save_file({"x": torch.ones(2)}, path, {"format": FORMAT, "meta": "{}"})
    record_checksum(path)
    assert read_checksums(tmp_path) == {path.name: file_checksum(path)}
    assert verify_file(path)
    load(path)
    flip(path, -1)
    with pytest.raises(CheckpointError) as caught:
        load(path)
    assert_damaged(caught, path)
    forget_checksum(path)
    assert not verify_file(path)
    assert read_checksums(tmp_path) == {}


def test_a_damaged_list_is_named(tmp_path):
    save(tmp_path / "a.safetensors", TENSORS, {})
    (tmp_path / LIST).write_text("{")
    with pytest.raises(BadValueError, match=f"{LIST} is damaged"):
        load(tmp_path / "a.safetensors")


def test_every_file_of_a_training_is_verified(tmp_path):
    start_run(tiny(), tmp_path / "run", quiet).run()
    files = sorted((tmp_path / "run/checkpoints").glob("*.safetensors"))
    names = {"best", "best-critics", "final", "final-critics", "last"}
    assert {file.stem for file in files} == names
    for file in files:
        flip(file, (data_start(file) + file.stat().st_size) // 2, 3)
        with pytest.raises(CheckpointError) as caught:
            load(file)
        assert_damaged(caught, file)
    with pytest.raises(CheckpointError):
        load_agent(tmp_path / "run")
    with pytest.raises(CheckpointError):
        resume_run(tmp_path / "run", quiet)


def test_a_damaged_encoder_stops_its_agent(tmp_path):
    start_run(tiny_pixels(tmp_path), tmp_path / "run", quiet).run()
    load_agent(tmp_path / "run")
    encoder = tmp_path / "run/encoder.safetensors"
    flip(encoder, -20, 6)
    with pytest.raises(CheckpointError) as caught:
        load_agent(tmp_path / "run")
    assert_damaged(caught, encoder)


def test_a_saved_encoder_is_verified(tmp_path):
    path = tmp_path / "encoder.safetensors"
    save_encoder(path, small_encoder(), {})
    flip(path, -3)
    with pytest.raises(CheckpointError) as caught:
        load_encoder(path)
    assert_damaged(caught, path)


def test_every_file_of_the_package_zoo_is_listed_with_its_checksum(tmp_path):
    files = sorted(WEIGHTS_DIR.glob("*.safetensors"))
    assert json.loads((WEIGHTS_DIR / LIST).read_text()) == {
        file.name: file_checksum(file) for file in files
    }, "run: python scripts/write_checksums.py src/jostle/zoo/weights"


def test_a_flipped_bit_in_a_zoo_file_is_detected(tmp_path):
    name = "one-cube-state-dagger.safetensors"
    for file in (name, LIST):
        shutil.copyfile(WEIGHTS_DIR / file, tmp_path / file)
    load_agent(tmp_path / name)
    flip(tmp_path / name, 400_000, 5)
    with pytest.raises(CheckpointError) as caught:
        load_agent(tmp_path / name)
    assert_damaged(caught, tmp_path / name)
