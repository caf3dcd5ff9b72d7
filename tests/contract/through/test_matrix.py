"""The matrix through our own gateway passes, and every check of it can be missed."""

import re

import pytest

from pondero.canon import HttpRequest, ResponseHead
from pondero.contract.through import (
    BACKS,
    CHECKS,
    DEFAULT_BACKS,
    FRONTS,
    Referee,
    parse_matrix_models,
    run_through,
    score_of,
)
from pondero.contract.through.checks import THOUGHT
from pondero.contract.through.matrix import check_fronts
from pondero.contract.through.more_checks import PNG
from pondero.contract.through.report import as_matrix_json, as_matrix_junit, describe_miss
from pondero.errors import BadParameter
from pondero.gateway.config.model import GatewayConfig, GatewayRoute, ServerConfig
from pondero.gateway.server.run import run_gateway_in_thread

MODELS = {name: BACKS[name] for name in DEFAULT_BACKS}


def through(transport, referee: Referee, front: str, models, checks=CHECKS, **options):
    routes = tuple(
        GatewayRoute(match=name, to=(back.model,), retries=0) for name, back in models.items()
    )
    with run_gateway_in_thread(
        GatewayConfig(ServerConfig(port=0), routes), transport=transport
    ) as url:
        return run_through(
            url, referee, fronts=[FRONTS[front]], models=models, checks=checks, **options
        )


@pytest.mark.parametrize("front", FRONTS)
def test_our_own_gateway_passes_every_check(front):
    referee = Referee()
    results = through(referee, referee, front, MODELS)
    assert [describe_miss(result) for result in results if result.status == "missed"] == []
    never = {"in_band_level"} | (set() if FRONTS[front].has_off else {"off"})
    assert {result.check for result in results if result.status == "passed"} >= {
        check.name for check in CHECKS if check.name not in never
    }


def test_only_a_client_api_that_is_named_runs_if_it_is_not_usual():
    usual = [front.name for front in check_fronts(())]
    assert usual == ["messages", "responses", "chat", "gemini"]
    assert [front.name for front in check_fronts(("interactions",))] == ["interactions"]


def test_without_streams_all_but_the_hang_up_is_checked():
    referee = Referee()
    results = through(referee, referee, "chat", {"opus": BACKS["opus"]}, streams=False)
    assert {r.check for r in results if r.status == "n/a"} >= {"hang_up", "model_switch"}
    assert not any(result.status == "missed" for result in results)
    assert not any(b'"stream":true' in request.body for request in referee.requests)


# -- a gateway with one defect ---------------------------------------------------------------------


class Spoiling:
    """What a gateway with one defect would do between the client and the service."""

    needs_key = False

    def __init__(self, referee, request=None, answer=None, status=None, lingers=False):
        self.referee = referee
        self.request = request or (lambda body, number: body)
        self.answer = answer or (lambda piece: piece)
        self.status = status
        self.lingers = lingers

    async def send(self, request, timeouts):
        body = self.request(request.body, len(self.referee.requests))
        sent = HttpRequest(request.method, request.url, request.headers, body)
        return _Spoiled(self, await self.referee.send(sent, timeouts))

    async def aclose(self) -> None:
        pass


class _Spoiled:
    def __init__(self, how, inner):
        self.how, self.inner = how, inner
        status = inner.head.status
        self.head = ResponseHead(
            how.status if how.status and status >= 400 else status, inner.head.headers
        )

    async def __aiter__(self):
        async for piece in self.inner:
            yield self.how.answer(piece)

    async def aclose(self) -> None:
        if not self.how.lingers:
            await self.inner.aclose()


def _replacing(old: bytes, new: bytes, after: int = 0):
    return lambda body, number: body.replace(old, new) if number >= after else body


def _signed(after: int):
    pattern = re.compile(rb'"signature":"[^"]{24,}"')
    return lambda body, number: (
        pattern.sub(b'"signature":"bm90IHRoZSBvbmUgdGhhdCB3YXMgZ2l2ZW4="', body)
        if number >= after
        else body
    )


PLANTED = {
    "level": {"request": _replacing(b'"effort":"low"', b'"effort":"high"')},
    "off": {"request": _replacing(b'"type":"disabled"', b'"type":"adaptive"')},
    "thinking": {"answer": lambda piece: piece.replace(THOUGHT[:5].encode(), b"Frist")},
    "signature_turn_two": {"request": _signed(1)},
    "signature_turn_three": {"request": _signed(2)},
    "usage": {"answer": lambda piece: re.sub(rb'"output_tokens":\d+', b'"output_tokens":1', piece)},
    "model_switch": {"request": _replacing(b'"effort":"high"', b'"effort":"low"', 2)},
    "switch_in_loop": {"request": _replacing(b'"effort":"high"', b'"effort":"low"', 1)},
    "errors": {"status": 503},
    "hang_up": {"lingers": True},
    "parallel_calls": {"request": lambda body, _: body.replace(b'"sunny"', b'"wet, too"')},
    "in_band_level": {"request": _replacing(b'"effort":"low"', b'"effort":"high"')},
    "system_turns": {"request": _replacing(b"The second rule is cerulean.", b"")},
    "structured_output": {"request": _replacing(b"degrees", b"celsius")},
    "images": {"request": _replacing(PNG.encode(), PNG.replace("GP4z8", "GP4z9").encode())},
}
OPUS = {name: BACKS[name] for name in ("opus", "gpt")}


def test_a_defect_is_planted_for_every_check():
    assert list(PLANTED) == [check.name for check in CHECKS]


@pytest.mark.parametrize("name", PLANTED)
def test_a_gateway_with_this_defect_misses_the_check(name):
    referee = Referee()
    (check,) = [each for each in CHECKS if each.name == name]
    spoiling = Spoiling(referee, **PLANTED[name])
    results = through(spoiling, referee, "messages", OPUS, [check])
    first = results[0]
    assert first.status == "missed", first
    shown = describe_miss(first)
    assert first.detail.splitlines()[0] in shown
    assert check.rule in shown
    assert "  sent      POST http://127.0.0.1:" in shown
    assert "  arrived   POST " in shown
    assert as_matrix_json(results, gateway="http://g")["results"][0]["arrived"]
    assert b"<failure message=" in as_matrix_junit(results)
    assert score_of(results).passed < score_of(results).total


def test_a_model_is_named_as_the_gateway_names_it():
    found = parse_matrix_models(["mine=opus", "gpt", "new=xai:grok-9"])
    assert found["mine"] == BACKS["opus"]
    assert found["gpt"] == BACKS["gpt"]
    assert found["new"].model == "xai:grok-9"
    with pytest.raises(BadParameter, match="NAME=BACK"):
        parse_matrix_models(["mine=opus-five"])
