"""What is asked, and what is answered where the answer can be staged."""

from ...canon import Message, Text, Tool, Usage
from ...emulator import Call, Turn

QUESTION = "What is 2+2?"
SUM = "What is 17 * 23?"
THOUGHT = "Two and two are counted on four fingers, from the left and from the right."
ANSWER = "It is four, and it stays four."
WIDE = "Vier – четыре – 四 – 🖐: it is four."  # one, two, three and four bytes a character

WEATHER = "What is the weather in Paris?"
TOOL = Tool(
    "get_weather",
    "Tells the weather of a city.",
    {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    },
)
ARGUMENTS = {"city": "Paris"}
RESULT = "Sunny, 21 degrees."
CALL = Call(TOOL.name, ARGUMENTS)

# Figures that no counting comes to by chance.
COUNTS = Usage(input=1009, cache_read=0, output=211, thinking=503, total=1723)
CACHED = Usage(input=1009, cache_read=401, output=211, thinking=0, total=1621)

SPOKEN = Turn(text=ANSWER)
THOUGHT_OF = Turn(thinking=THOUGHT, text=ANSWER, usage=COUNTS)
CALLED = Turn(tool_calls=(CALL,))


def user(text: str) -> Message:
    """Return the words of a user as a message."""
    return Message("user", (Text(text),))
