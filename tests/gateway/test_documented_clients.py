"""What docs/gateway.md tells clients to set, tried with the client and exactly these variables."""

import re
from contextlib import closing
from pathlib import Path

import boto3
import pytest
from msgspec.structs import replace

from pondero.emulator import Emulator
from pondero.gateway.config.model import GatewayConfig, GatewayKey
from pondero.gateway.config.reader import default_config
from pondero.gateway.config.secrets import hash_key
from pondero.gateway.server.run import run_gateway_in_thread
from pondero.store import load_catalog

PAGE = Path(__file__).parents[2] / "docs" / "gateway.md"
KEY = "pnd_a-key-of-the-page"
_VARIABLE = re.compile(r"`([A-Z_]+)(?:=([^`]*))?`")


def variables(label: str) -> dict[str, str]:
    """Return the variables in a row of the page, up to its first full stop or semicolon."""
    page = PAGE.read_text("utf-8")
    row = next(line for line in page.splitlines() if line.startswith(f"| {label} |"))
    return dict(_VARIABLE.findall(row.split("|")[2].partition(";")[0]))


def test_boto3_reaches_a_gateway_with_keys(monkeypatch, tmp_path):
    said = variables("boto3 (Converse)")
    for name in ("AWS_PROFILE", "AWS_BEARER_TOKEN_BEDROCK", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    config = replace(
        default_config(GatewayConfig(), load_catalog(), offline=True),
        keys=(GatewayKey("page", hash_key(KEY)),),
    )
    with run_gateway_in_thread(config, transport=Emulator()) as url:
        for name, value in said.items():
            address = value.replace("http://127.0.0.1:8787", url)
            monkeypatch.setenv(name, KEY if value in ("KEY", "") else address)
        with closing(boto3.Session().client("bedrock-runtime", region_name="eu-west-1")) as client:
            answer = client.converse(
                modelId="claude-opus-5",
                messages=[{"role": "user", "content": [{"text": "What is 17 * 23?"}]}],
            )
            text = answer["output"]["message"]["content"][-1]["text"]
            with pytest.raises(client.exceptions.ClientError, match="use Converse") as refused:
                client.invoke_model(modelId="claude-opus-5", body="{}")
    assert "391" in text
    assert refused.value.response["Error"]["Code"] == "UnknownOperationException"
