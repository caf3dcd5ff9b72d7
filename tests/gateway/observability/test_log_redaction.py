"""The gateway's own log has no key, also in a traceback."""

import logging

from pondero.gateway.observability.log_redaction import redact_log


def test_messages_and_tracebacks_are_redacted_and_kept(monkeypatch, caplog):
    key = "a-key-of-nobody-0123456789"
    monkeypatch.setenv("SOME_API_KEY", key)
    redact_log()
    redact_log()
    log = logging.getLogger("pondero.gateway")
    assert len([each for each in log.filters if type(each).__name__ == "LogRedaction"]) == 1
    try:
        int(key)
    except ValueError:
        log.exception("request %s failed with %s", 7, key)
    assert "request 7 failed with REDACTED" in caplog.text
    assert "int() with base 10: 'REDACTED'" in caplog.text
    assert key not in caplog.text
