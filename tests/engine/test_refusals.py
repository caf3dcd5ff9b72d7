"""What a real engine refuses, as our errors."""

import pytest
from tests.engine.scripted import CHAT, CONTEXT, RESPONSES, WIRES

import pondero
from pondero.canon import Image
from pondero.errors import BadRequest, ContextTooLong, NotFound, ServerFailed, Unreachable
from pondero.exchange import Retry

pytestmark = pytest.mark.engine

WAYS = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
EVERY_WIRE = pytest.mark.parametrize("model", WIRES)


@EVERY_WIRE
@WAYS
def test_a_prompt_beyond_the_context_is_too_long(client, wire, model, stream):
    with pytest.raises(ContextTooLong, match="exceeds the available context size") as caught:
        client.ask(model, "x" * (CONTEXT + 1), stream=stream)
    assert caught.value.status == 400
    assert len(wire.bodies) == 1  # asking again would change nothing


@EVERY_WIRE
def test_a_field_of_the_wrong_kind_is_a_bad_request(client, model):
    with pytest.raises(BadRequest, match="top_k"):
        client.ask(model, "Hi.", extras={"top_k": "all"})


@pytest.mark.parametrize(("model", "field"), [(CHAT, "messages"), (RESPONSES, "input")])
def test_a_conversation_of_the_wrong_kind_is_a_bad_request(client, model, field):
    with pytest.raises(BadRequest, match=field):
        client.ask(model, "Hi.", extras={field: 7 if field == "input" else "words"})


@EVERY_WIRE
def test_an_image_for_a_model_without_eyes_is_the_engines_failure(wire, model):
    image = Image("image/png", data=b"a picture")
    once = pondero.Client(
        transport=wire, retry=Retry(attempts=1)
    )  # it says 500, so we would try on
    with pytest.raises(ServerFailed, match="image input is not supported") as caught:
        once.ask(model, [image, "What is this?"])
    assert caught.value.status == 500


@pytest.mark.usefixtures("_wires")
def test_an_address_with_a_wrong_path_is_not_found(engine):
    with pondero.Client(urls={"llamacpp": f"{engine}/v9"}) as ours, pytest.raises(NotFound):
        ours.ask(CHAT, "Hi.")


@pytest.mark.usefixtures("_wires")
def test_an_address_where_nobody_listens_is_unreachable():
    urls = {"llamacpp": "http://127.0.0.1:9"}
    once = Retry(attempts=1)
    with pondero.Client(urls=urls, retry=once) as ours, pytest.raises(Unreachable):
        ours.ask(CHAT, "Hi.")
