"""Whether the secrets of all envelopes are known: of a split body as of its bytes."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pondero.canon import HttpRequest, Origin
from pondero.dialects import get_dialect
from pondero.exchange import finish_steps
from pondero.gateway.requests import split_body as split_module
from pondero.gateway.requests.known_turns import parse_known_in_steps
from pondero.gateway.requests.split_body import SplitBody, split_body
from pondero.gateway.signatures.envelope import ClientEnvelopes, Envelope, EnvelopeCipher
from pondero.gateway.state.conversation_memo import ConversationMemo

SECRETS = [f"secret number {number} of these tests" for number in range(3)]
SERVICE = get_dialect("anthropic").service()
SEALED = [
    ClientEnvelopes(EnvelopeCipher([secret]), "mine").pack(Envelope(Origin("p", "m"), "a"))
    for secret in SECRETS
]
TEXTS = st.sampled_from(["", "say", *SEALED])


@pytest.fixture(autouse=True, scope="module")
def _any_size():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(split_module, "SHORT_BODY", 0)
        patch.setattr(split_module, "_LONG", 8)
        yield


def _send(memo: ConversationMemo, said: list[str], system: str) -> SplitBody:
    turns = [
        {"role": role, "content": text or "-"}
        for text in said
        for role in ("user", "assistant", "user")
    ]
    fields = {"model": "m", "max_tokens": 9, "system": system, "messages": turns}
    raw = json.dumps(fields).encode()
    http = HttpRequest("POST", "http://x/v1/messages", {}, raw)
    http = split_body(memo, http, SERVICE.turn_form, client="a")
    finish_steps(parse_known_in_steps(memo, SERVICE, http))
    assert isinstance(http.body, SplitBody)
    return http.body


@given(
    st.lists(TEXTS, min_size=2, max_size=6),
    st.lists(TEXTS, max_size=4),
    st.lists(st.lists(st.sampled_from(SECRETS), min_size=1, unique=True), min_size=5, max_size=5),
)
@settings(max_examples=100, deadline=None)
def test_a_split_body_needs_the_secrets_that_its_bytes_need(said, systems, known):
    memo = ConversationMemo(1 << 20)
    ciphers = [EnvelopeCipher(each) for each in known]  # each has the ones before it to mislead it
    for end, system in enumerate([*systems, ""], 2):
        body = _send(memo, said[:end], system)
        for cipher in ciphers:
            assert cipher.knows_secrets(body) == cipher.knows_secrets(bytes(body))


def test_known_turns_are_not_searched_again(monkeypatch):
    memo, cipher, searched = ConversationMemo(1 << 20), EnvelopeCipher(SECRETS), list[bytes]()

    def note(self: EnvelopeCipher, text: bytes) -> bool:
        searched.append(text)
        return False

    monkeypatch.setattr(EnvelopeCipher, "_lacks_secret", note)
    assert cipher.knows_secrets(_send(memo, [SEALED[2]] * 9, ""))  # from now on it is looked for
    said = [SEALED[0]] * 9
    for _ in range(3):
        searched.clear()
        said.append(SEALED[1])
        assert cipher.knows_secrets(_send(memo, said, ""))
    assert b"".join(searched).count(SEALED[0].encode()) == 0
    assert b"".join(searched).count(SEALED[1].encode()) > 0
