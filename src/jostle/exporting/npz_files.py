"""Large npz files, written and read row by row: what is in memory is one part of one array."""

import zipfile
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from jostle.core.errors import BadValueError


class NpzWriter:
    """Writes arrays one after the other, each in parts along its first axis."""

    def __init__(self, path: Path) -> None:
        """Create the file."""
        self._zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1)

    def write(self, name: str, rows: int, parts: Iterable[NDArray[Any]]) -> None:
        """Write an array of `rows` rows that comes in parts."""
        with self._zip.open(f"{name}.npy", "w", force_zip64=True) as file:
            written = 0
            for part in parts:
                if not written:
                    header = npy.header_data_from_array_1_0(part)
                    npy.write_array_header_1_0(
                        file, {**header, "fortran_order": False, "shape": (rows, *part.shape[1:])}
                    )
                file.write(np.ascontiguousarray(part).tobytes())
                written += len(part)
            assert written == rows, f"{name}: {written} rows instead of {rows}"

    def __enter__(self) -> "NpzWriter":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._zip.close()


class NpzReader:
    """Opens an npz file; pickled arrays are refused."""

    def __init__(self, path: Path) -> None:
        """Read the names, types and shapes of all arrays."""
        self.path = path
        try:
            self._zip = zipfile.ZipFile(path)
            names = [name for name in self._zip.namelist() if name.endswith(".npy")]
            self.arrays = {name.removesuffix(".npy"): ArrayRows(self._zip, name) for name in names}
        except (OSError, zipfile.BadZipFile, ValueError) as error:
            raise BadValueError(f"{path} is no npz file that can be read: {error}.") from error

    def __contains__(self, name: str) -> bool:
        """Whether there is an array of this name."""
        return name in self.arrays

    def all(self, name: str) -> NDArray[Any]:
        """A whole array."""
        return self.arrays[name].rewind().read(self.arrays[name].shape[0])

    def close(self) -> None:
        """Close the file."""
        for array in self.arrays.values():
            array.close()
        self._zip.close()


class ArrayRows:
    """One array of an npz file, read from its first row to its last."""

    def __init__(self, archive: zipfile.ZipFile, name: str) -> None:
        """Read the header."""
        self._zip, self._name = archive, name
        self._file: IO[bytes] | None = None
        self.rewind()

    def rewind(self) -> "ArrayRows":
        """Start again at the first row."""
        self.close()
        self._file = self._zip.open(self._name)
        version = npy.read_magic(self._file)
        read_header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        self.shape, fortran, self.dtype = read_header(self._file)
        if self.dtype.hasobject or fortran or not self.shape:
            raise ValueError(f"{self._name} is pickled, transposed or a single number")
        return self

    def read(self, rows: int) -> NDArray[Any]:
        """The next rows, (rows, ...)."""
        assert self._file is not None
        shape = (rows, *self.shape[1:])
        size = int(np.prod(shape, dtype=np.int64)) * self.dtype.itemsize
        data = self._file.read(size)
        if len(data) < size:
            raise ValueError(f"{self._name} is cut off")
        return np.frombuffer(data, self.dtype).reshape(shape)

    def close(self) -> None:
        """Close the array."""
        if self._file is not None:
            self._file.close()
