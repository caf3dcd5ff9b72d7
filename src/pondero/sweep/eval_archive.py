"""The ``.eval`` logs of inspect_ai: zip archives, whose entries newer versions compress with zstd.

Python reads zstd in archives from 3.14 on; before, this needs the package zstandard, which comes
with inspect_ai.
"""

import io
import json
import struct
import zipfile
import zlib
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

from ..canon import Json
from ..errors import BadParameter

_ZSTD = 93  # the method's number in an archive
_LOCAL_HEADER = struct.Struct("<26xHH")  # its last two fields: the lengths of the name and extra


def read_eval_archive(path: Path, data: bytes) -> tuple[Json, Iterable[Json]]:
    """Return the header and the samples of a log; raise BadParameter if they cannot be read."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
        header = json.loads(_read(archive, data, "header.json"))
        names = [n for n in archive.namelist() if n.startswith("samples/") and n.endswith(".json")]
        return header, [json.loads(_read(archive, data, name)) for name in names]
    except NotImplementedError:
        message = (
            f"{path} is compressed in a way that this Python cannot read; install zstandard ('pip "
            "install zstandard'), or write the log with 'inspect eval --log-format json'"
        )
        raise BadParameter(message) from None
    except (KeyError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        message = f"{path} is not a log of inspect_ai: {error}"
        raise BadParameter(message) from None


def _read(archive: zipfile.ZipFile, data: bytes, name: str) -> bytes:
    entry = archive.getinfo(name)
    if entry.compress_type != _ZSTD or find_spec("zstandard") is None:
        return archive.read(entry)
    start = entry.header_offset + _LOCAL_HEADER.size
    start += sum(_LOCAL_HEADER.unpack_from(data, entry.header_offset))
    return _decompress(data[start : start + entry.compress_size], entry)


def _decompress(packed: bytes, entry: zipfile.ZipInfo) -> bytes:
    import zstandard  # noqa: PLC0415 - comes with inspect_ai, not with pondero

    try:
        reader = zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True)
        found = reader.read()
    except zstandard.ZstdError as error:
        raise zipfile.BadZipFile(str(error)) from None
    if zlib.crc32(found) != entry.CRC:
        message = f"{entry.filename} is damaged"
        raise zipfile.BadZipFile(message)
    return found
