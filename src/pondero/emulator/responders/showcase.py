"""Answers in Markdown, for those who ask the emulator for a table, code or a list."""

import re

_ASKS = re.compile(
    r"\b(?:show|write|give|make|draw|print|list|compare|explain|demonstrate)\b", re.IGNORECASE
)

_CODE = '''\
Divide by every number up to the square root; if none divides it, the number is prime:

```python
def is_prime(number: int) -> bool:
    """Return whether a number has no divisor but 1 and itself."""
    return number > 1 and all(number % each for each in range(2, int(number**0.5) + 1))


print([number for number in range(60) if is_prime(number)])
```

`range` ends before its second argument, hence the `+ 1`.'''

_TABLE = """\
| number | divisors | prime |
|-------:|----------|:-----:|
|     11 | 1, 11    |  yes  |
|     12 | 1, 2, 3, 4, 6, 12 | no |
|     13 | 1, 13    |  yes  |
|     14 | 1, 2, 7, 14 | no |"""

_LIST = """\
1. **Guess** a divisor, beginning with 2.
2. **Divide**; a remainder of 0 means that the number is not prime.
   - Even numbers need one division.
   - Above the square root there is nothing to find.
3. **Go on** with the next number."""

_KINDS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\b(?:tables?|columns)\b", re.IGNORECASE), _TABLE),
    (re.compile(r"\b(?:lists?|steps|bullets?)\b", re.IGNORECASE), _LIST),
    (re.compile(r"\b(?:code|functions?|scripts?|programs?|python)\b", re.IGNORECASE), _CODE),
)
_ALL = re.compile(r"\b(?:markdown|formatting)\b", re.IGNORECASE)


def find_showcase(question: str) -> str | None:
    """Return Markdown with a table, list or code, if the question asks for one."""
    if not _ASKS.search(question):
        return None
    wanted = [text for words, text in _KINDS if _ALL.search(question) or words.search(question)]
    if not wanted:
        return None
    head = "## Prime numbers\n\nThe emulator writes this, whatever it is *about*."
    return "\n\n".join((head, *wanted))
