"""What a session costs under one policy: tokens as a service with a prefix cache bills them, and bytes sent."""

from __future__ import annotations

from typing import NamedTuple

from gemchat.core.economics import Price
from gemchat.core.model import Usage

PRICE = Price(fresh=0.75, cached=0.075, output=3.75)  # a Flash model


class Bill(NamedTuple):
    usage: Usage
    bytes: int

    @property
    def cost(self) -> float:
        """US dollars."""
        return PRICE.of(self.usage)

    def plus(self, usage: Usage, size: int) -> Bill:
        return Bill(self.usage + usage, self.bytes + size)


NOTHING = Bill(Usage(), 0)
