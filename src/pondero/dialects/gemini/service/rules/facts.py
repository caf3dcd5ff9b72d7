"""A request as the rules see it: what was asked, of which model, on which deployment."""

from typing import NoReturn

from msgspec import Struct

from pondero.canon import Json

from ..errors import Surface
from ..models import Model
from ..types import FunctionDeclaration, GenerateContentRequest, GenerationConfig

FUNCTIONS = "function_declarations"


class RequestFacts(Struct, frozen=True, kw_only=True):
    """A request, the model's name and row, and the deployment that was asked."""

    request: GenerateContentRequest
    name: str
    model: Model
    surface: Surface
    provider: str
    size: int
    streams: bool = False
    counted: bool = False

    @property
    def config(self) -> GenerationConfig:
        """Return the settings of the answer."""
        return self.request.generation_config

    @property
    def functions(self) -> list[tuple[str, FunctionDeclaration]]:
        """Return each function that the model may call, with its place."""
        return [
            (f"tools[{number}].{FUNCTIONS}[{place}]", function)
            for number, tool in enumerate(self.request.tools)
            for place, function in enumerate(tool.function_declarations)
        ]

    @property
    def hosted(self) -> set[str]:
        """Return the tools that the service runs itself, by the names of their fields."""
        return {name for tool in self.request.tools for name in tool.kinds} - {FUNCTIONS}

    def reject(self, rule: str, /, **facts: Json) -> NoReturn:
        """Raise the rejection of a rule, in the deployment's own words."""
        raise self.surface.rejection(rule, **facts)

    def reject_for_model(self, rule: str, /, **facts: Json) -> NoReturn:
        """Raise the rejection of a rule whose wording names the model."""
        self.reject(rule, model=self.name, **facts)
