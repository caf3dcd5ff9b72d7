"""The built-in questions of a probe: short problems of graded difficulty, easy and hard by turns.

A model can answer each in one line, and thinks longer about it if it is told to.
"""

from ..canon import decode_json
from ..errors import BadParameter

MOST = 200
_FIELDS = ("input", "question", "prompt")
_ENDING = " Give the answer in one line."

_TEXTS = """\
A bat and a ball cost 11 euros. The bat costs 10 euros more than the ball. What does the ball cost?
How many positive integers below 1,000 are divisible by neither 2, 3, 5 nor 7?
Tom is twice as old as Ann was when he was as old as she is now. Together they are 63. How old?
In how many ways can 10 be written as a sum of distinct positive integers?
What is the next number: 1, 11, 21, 1211, 111221?
A coin is tossed until two heads come in a row. What is the expected number of tosses?
Seven people shake hands, each with each other once. How many handshakes are there?
What is the smallest positive integer with exactly 16 divisors?
Every label on boxes of apples, oranges and both is wrong. "Both" holds an apple. Where is which?
How many squares of any size has a chessboard whose four corner fields are cut off?
A clock shows a quarter past three. What is the angle between its hands?
What are the last two digits of 7 to the power of 2026?
A snail climbs 3 metres a day and slides back 2 a night. On which day is it 10 metres up?
How many numbers of four different digits, without a leading zero, are divisible by 4?
If all bloops are razzies and some razzies are lazzies, must some bloops be lazzies?
Three dice are rolled. How likely is the highest exactly twice the lowest?
A train of 200 metres passes a man in 10 seconds, a bridge in 30. How long is the bridge?
For how many integers n from 1 to 100 is n squared plus n plus 41 not a prime?
Which weighs more, a kilogram of feathers or two pounds of iron?
Four people need 1, 2, 7 and 10 minutes to cross, two at a time with one torch. The least time?
A rectangle has an area of 60 and a diagonal of 13. What is its perimeter?
In how many ways can two equal rooks stand on a chessboard without attacking each other?
Yesterday was two days after Monday. Which day is the day after tomorrow?
What is the remainder when 1! + 2! + 3! + ... + 50! is divided by 35?
"""
QUESTIONS = tuple(f"{line}{_ENDING}" for line in _TEXTS.splitlines())
DISCOVERY_QUESTION = QUESTIONS[0]
"""The one question of a discovery, which asks it with every field."""


def parse_questions(text: str, name: str) -> tuple[str, ...]:
    """Return the questions of a file: one a line, as a text or as a JSON object with ``input``."""
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1)]
    found = tuple(_parse_line(line, f"{name}:{number}") for number, line in lines if line)
    if not found:
        raise BadParameter(f"{name} has no questions; write one on each line")
    return found[:MOST]


def _parse_line(line: str, place: str) -> str:
    if not line.startswith("{"):
        return line
    try:
        row = decode_json(line, dict[str, object])
    except ValueError as error:
        raise BadParameter(f"{place}: this is not JSON: {error}") from None
    said = next((row[field] for field in _FIELDS if isinstance(row.get(field), str)), None)
    if said is None:
        raise BadParameter(f"{place}: no question; write it in the field input")
    return str(said)
