"""Where random bits come from: the operating system, or a ChaCha20 keystream that it keys.

Everything proven about the noise is relative to one assumption: the source emits fair, independent bits. A
source belongs to one call, one process and one thread; it is never shared, pickled or logged.

Assumption and its two forms: docs/proofs/noise.md
"""

from __future__ import annotations

import hashlib
import operator
import os
import threading
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]

_BUFFER = 1 << 19
_REKEY_AFTER = 1 << 30


class RandomBits:
    """Fair, independent bits, bound to the process and thread that made it.

    Raises:
        RuntimeError: used by another process or thread, where two users could draw the same keystream.
    """

    assumption = "random bits of the operating system are fair and independent"
    private = True
    """False for the seeded source only: what is drawn from it is predictable."""

    def __init__(self) -> None:
        self._owner = (os.getpid(), threading.get_ident())

    def __reduce__(self) -> NoReturn:
        raise TypeError("a source of random bits cannot be pickled or copied: make a new one")

    def u64(self, count: int) -> npt.NDArray[np.uint64]:
        """`count` uint64 words, valid until the next call (the memory is reused)."""
        return self._bytes(8 * count).view(np.dtype("<u8"))

    def u32(self, count: int) -> npt.NDArray[np.uint32]:
        """`count` uint32 words, valid until the next call (the memory is reused)."""
        return self._bytes(4 * count).view(np.dtype("<u4"))

    def integer(self, count: int) -> int:
        """A uniform integer below 2^count, straight from the operating system (few are ever needed)."""
        self._check()
        return int.from_bytes(os.urandom((count + 7) // 8), "little") >> (-count % 8)

    def _bytes(self, size: int) -> Bytes:
        self._check()
        return np.frombuffer(os.urandom(size), dtype=np.uint8)

    def _check(self) -> None:
        if self._owner != (os.getpid(), threading.get_ident()):
            raise RuntimeError(
                "a source of random bits was passed to another process or thread, where the same bits could "
                "be drawn twice: make one in each"
            )


class ChaCha20Bits(RandomBits):
    """Keystream of ChaCha20 under a secret 256-bit key from the operating system; a new key every GiB.

    Ten times the speed of `os.urandom`. Needs the `cryptography` package (extra "fast").
    """

    assumption = (
        "random bits of the operating system are fair and independent, and a ChaCha20 keystream under a "
        "secret 256-bit key cannot be told from such bits"
    )

    def __init__(self) -> None:
        super().__init__()
        self._zeros = bytes(_BUFFER)
        self._stream = np.empty(_BUFFER + 64, dtype=np.uint8)
        self._rekey()

    def _rekey(self) -> None:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms

        key = os.urandom(32)
        # A key is used once, so the nonce may be constant; its first bytes are the block counter.
        self._cipher: Any = Cipher(algorithms.ChaCha20(key, bytes(16)), mode=None).encryptor()
        self._left = _REKEY_AFTER

    def _bytes(self, size: int) -> Bytes:
        self._check()
        if size > _BUFFER:
            # A longer slice of the buffer would hand out bytes that no cipher wrote.
            raise ValueError(f"at most {_BUFFER} bytes at a time, asked for {size}")
        if size > self._left:
            self._rekey()
        self._left -= size
        self._cipher.update_into(memoryview(self._zeros)[:size], self._stream)
        return self._stream[:size]


class InsecureBits(RandomBits):
    """Predictable bits for tests and figures: SHAKE-128 of a seed and a counter; not private."""

    assumption = "none: the noise comes from a seed"
    private = False

    def __init__(self, seed: int) -> None:
        super().__init__()
        try:
            self._seed = operator.index(seed)
        except TypeError as error:
            raise ValueError(f"insecure_seed must be an integer, got {seed!r}") from error
        self._used = {"block": 0, "bits": 0}

    # Two streams, so that how often the rare branches ask for bits does not move the bulk of the draws.
    def integer(self, count: int) -> int:
        """As `RandomBits.integer`, from a stream of its own."""
        return int.from_bytes(self._digest("bits", (count + 7) // 8), "little") >> (-count % 8)

    def _bytes(self, size: int) -> Bytes:
        return np.frombuffer(self._digest("block", size), dtype=np.uint8)

    def _digest(self, stream: str, size: int) -> bytes:
        self._check()
        self._used[stream] += 1
        label = f"sosdp insecure {stream} {self._seed} {self._used[stream]}"
        return hashlib.shake_128(label.encode()).digest(size)


def open_bits(insecure_seed: int | None = None, *, keystream: bool | None = None) -> RandomBits:
    """A fresh source: ChaCha20 where `cryptography` is installed, else the operating system; or a seeded one.

    Args:
        insecure_seed: tests only; what is drawn is predictable.
        keystream: True or False to insist on ChaCha20 or on the operating system alone.

    Raises:
        ValueError: a seed that is not an integer.
        ModuleNotFoundError: ChaCha20 asked for without `cryptography`.
    """
    if insecure_seed is not None:
        return InsecureBits(insecure_seed)
    if keystream is None:
        keystream = keystream_available()
    return ChaCha20Bits() if keystream else RandomBits()


def keystream_available() -> bool:
    """Whether `cryptography`, and so the ChaCha20 keystream, is installed (a public fact)."""
    from importlib.util import find_spec

    return find_spec("cryptography") is not None


def generator_assumption() -> str:
    """The sentence about randomness that a guarantee made with the default source carries."""
    return ChaCha20Bits.assumption if keystream_available() else RandomBits.assumption
