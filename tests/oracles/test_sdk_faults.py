"""docs/emulator.md says what the vendors' SDKs make of each fault."""

import re
from pathlib import Path

import pytest

import pondero
from pondero.emulator import Emulator

pytestmark = [
    pytest.mark.judge,
    pytest.mark.usefixtures("leaves_open"),
    pytest.mark.filterwarnings("ignore:The model:DeprecationWarning"),
]
TEXT = (Path(__file__).parents[2] / "docs" / "emulator.md").read_text("utf-8")
SUM = "What is 17 * 23?"
ASKED = [{"role": "user", "content": SUM}]
WHOLE = "17 * 23 = 391"


def _rows():
    head = "| fault | answer | openai, Responses | openai, Chat | anthropic |\n"
    table = TEXT.partition(head)[2].partition("\n\n")[0]
    for line in table.splitlines()[1:]:
        faults, answer, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        for fault in re.findall(r"`([^`]+)`", faults):
            for streamed in (False, True):
                if answer in ("both", "streamed" if streamed else "whole"):
                    for ask, said in zip((responses, chat, messages), cells, strict=True):
                        yield pytest.param(ask, fault, streamed, said)


def _openai(emulator, retries):
    openai = pytest.importorskip("openai")
    http = pondero.sdk.client(transport=emulator)
    return openai.OpenAI(api_key="any", max_retries=retries, http_client=http)


def responses(emulator, *, streamed, retries=0):
    client = _openai(emulator, retries)
    if not streamed:
        return client.responses.create(model="gpt-5.1", input=SUM).output_text
    events = client.responses.create(model="gpt-5.1", input=SUM, stream=True)
    said = [(event.type, getattr(event, "delta", "")) for event in events]
    if said and said[-1][0] == "response.failed":
        return "response.failed"
    return "".join(text for kind, text in said if kind == "response.output_text.delta")


def chat(emulator, *, streamed, retries=0):
    client = _openai(emulator, retries)
    if not streamed:
        answer = client.chat.completions.create(model="gpt-5.1", messages=ASKED)
        return answer.choices[0].message.content
    chunks = client.chat.completions.create(model="gpt-5.1", messages=ASKED, stream=True)
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)


def messages(emulator, *, streamed, retries=0):
    anthropic = pytest.importorskip("anthropic")
    http = pondero.sdk.client(transport=emulator)
    client = anthropic.Anthropic(api_key="any", max_retries=retries, http_client=http)
    asked = {"model": "claude-opus-5", "max_tokens": 2000, "messages": ASKED}
    if not streamed:
        return client.messages.create(**asked).content[-1].text
    with client.messages.stream(**asked) as stream:
        text = "".join(stream.text_stream)
        assert stream.get_final_message().stop_reason is None
    return text


@pytest.mark.parametrize(("ask", "fault", "streamed", "said"), [*_rows()])
def test_the_sdks_do_with_each_fault_what_the_page_says(ask, fault, streamed, said):
    if said.startswith("`"):
        with pytest.raises(Exception) as raised:  # noqa: PT011 - the page says which
            ask(Emulator(faults=[fault]), streamed=streamed)
        assert said.partition(" of ")[0] == f"`{raised.type.__name__}`"
        return
    text = ask(Emulator(faults=[fault]), streamed=streamed)
    ends = {"": "no text", WHOLE: "whole text", "response.failed": "an event `response.failed`"}
    assert re.split("[,:] ", said) == ["no error", ends[text]]


@pytest.mark.parametrize("ask", [responses, chat, messages])
def test_one_failure_goes_unnoticed_by_default(ask):
    emulator = Emulator(faults=["429 0.01", "429 0.01"])
    assert ask(emulator, streamed=False, retries=2) == WHOLE
    assert [entry.status for entry in emulator.log.entries] == [429, 429, 200]
