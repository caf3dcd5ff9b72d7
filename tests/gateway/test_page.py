"""The numbers of docs/gateway.md are those of the program."""

from pathlib import Path

import pytest

from pondero.dialects.anthropic.service.types import HOSTED_TOOLS
from pondero.exchange import Timeouts
from pondero.gateway.answers.response_writer import READ_ON
from pondero.gateway.config import secrets
from pondero.gateway.config.model import AlertsConfig, GatewayRoute, ServerConfig
from pondero.gateway.deployments.accounts import LAST_PATIENCE
from pondero.gateway.deployments.placement import HOME_PATIENCE
from pondero.gateway.observability import audit_log, error_watch, level_test, webhook
from pondero.gateway.observability.background_work import MOST
from pondero.gateway.observability.receipt_batch import WAIT
from pondero.gateway.observability.request_pages import SCANNED
from pondero.gateway.quotas import counts_from_ledger
from pondero.gateway.quotas.admission import USEFUL_ANSWER
from pondero.gateway.server.limits import KEEP_ALIVE
from pondero.gateway.server.rejections import PER_ADDRESS

PAGE = " ".join((Path(__file__).parents[2] / "docs" / "gateway.md").read_text("utf-8").split())
WORDS = {3: "three", 5: "five", 10: "ten"}
SAID = [
    f"| idle connection after an answer | {KEEP_ALIVE} seconds |",
    f"| {PER_ADDRESS} per minute and address",
    f"one by one up to {PER_ADDRESS} a minute from one address",
    f"the latest {audit_log.KEPT} of its process",
    f"reads on for up to {READ_ON:g} seconds",
    f"waits up to {WORDS[round(HOME_PATIENCE)]} seconds for it",
    f"waits up to {WORDS[round(LAST_PATIENCE)]} seconds for the first that has",
    f"has failed after {Timeouts().first_byte:.0f} seconds; after",
    f"after {Timeouts().whole().first_byte:.0f} seconds if the client wants a whole answer",
    f"in memory, up to {MOST:,} in each worker",
    f"up to {webhook.KEPT:,} alerts wait",
    f"or ended less than {WAIT * 1_000:g} ms before",
    f"no room for an answer of {USEFUL_ANSWER:,} tokens",
    f"(`max_uses`, at most {WORDS[HOSTED_TOOLS.passes or 0]})",
    f'By default (`on_exhausted = "{GatewayRoute("a", ("b",)).on_exhausted}"`)',
    f"from fewer than {level_test.ENOUGH} answers",
    f"a probability of at most {level_test.ALPHA * 100:g} %",
    f"{AlertsConfig().error_share * 100:g} % of at least {error_watch.ENOUGH} requests",
    f"reads at most {SCANNED:,} rows",
    f"does not answer within {counts_from_ledger.PATIENCE:g} seconds",
    f"(at least {secrets._LEAST_SECRET} characters)",
    f"base64 of at least {secrets._LEAST_WEBHOOK_SECRET} bytes",
    f"It listens on `http://{ServerConfig().host}:{ServerConfig().port}`",
]


@pytest.mark.parametrize("said", SAID)
def test_the_page_has_the_numbers_of_the_program(said):
    assert said in PAGE
