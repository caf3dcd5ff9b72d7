"""The referee as the upstream of a gateway in process, and what other tests ask of it."""

from pondero.contract.through import BACKS as ROWS
from pondero.contract.through import Referee

BACKS = {name: back.model for name, back in ROWS.items()}


class Upstream:
    """The emulator as a transport that keeps what it answered."""

    needs_key = False

    def __init__(self) -> None:
        self.emulator = Referee()

    @property
    def requests(self) -> list[bytes]:
        return self.emulator.bodies

    @property
    def answers(self) -> list[bytearray]:
        return self.emulator.answers

    @property
    def statuses(self) -> list[int]:
        return self.emulator.statuses

    async def send(self, request, timeouts):
        return await self.emulator.send(request, timeouts)

    async def aclose(self) -> None:
        pass

    def reset(self) -> None:
        self.emulator.reset()

    def said(self, number: int):
        return self.emulator.decode_answer(number)

    def refusals(self):
        return self.emulator.rejections()


def seals_of(said) -> list[str]:
    """Every long string of a signature, ids included."""
    found: list[str] = []

    def look(value) -> None:
        if isinstance(value, str) and len(value) >= 24:
            found.append(value)
        elif isinstance(value, dict):
            for each in value.values():
                look(each)
        elif isinstance(value, list | tuple):
            for each in value:
                look(each)

    for _, _, seal in said.seals:
        look(seal.value)
    return found
