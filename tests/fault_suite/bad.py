"""What is a bad input? Words for the command line that cannot be carried out, and the exit codes that say so."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from fault import USAGE

CHECK = ("check", "mine:fine", "--source", "mine:rows", "--size", "5")


@dataclass(frozen=True, slots=True)
class Bad:
    kind: str
    words: tuple[str, ...]
    codes: tuple[int, ...] = (USAGE,)
    says: str = ""
    ci: bool = True

    @property
    def id(self) -> str:
        """Printable and short: an input may be a megabyte of brackets."""
        text = " ".join(self.words).encode("unicode_escape", "surrogatepass").decode()
        return f"{self.kind}: {text if len(text) < 100 else f'{text[:60]}... {len(text)} {hash_of(text)}'}"


def hash_of(text: str) -> str:
    from hashlib import blake2b

    return blake2b(text.encode(), digest_size=3).hexdigest()


def each(kind: str, before: Iterable[str], values: Iterable[str], *codes: int, ci: bool = True) -> Iterator[Bad]:
    """The same words with each of some values behind them."""
    for value in values:
        yield Bad(kind, (*before, value), codes or (USAGE,), ci=ci)
