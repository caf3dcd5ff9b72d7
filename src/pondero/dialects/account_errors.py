"""Errors of an account that a service words as an invalid request: another account may answer.

The readers of errors ask this table before they call a request invalid.
"""

import re

from ..errors import (
    AuthFailed,
    BillingFailed,
    PermissionDenied,
    QuotaSpent,
    ServiceError,
)

# A summary that an organisation may not have is left out instead (``caller/repair.py``).
_BY_MESSAGE: tuple[tuple[str, type[ServiceError]], ...] = (
    # Anthropic, 400 invalid_request_error (wires/anthropic section 8; anthropics/claude-code#72457,
    # #38038); Groq, 400 (songquanpeng/one-api#271)
    (r"credit balance is too low", BillingFailed),
    (r"organization has been (?:disabled|restricted)", AuthFailed),
    (r"reached your specified (?:\w+ )?API usage limits", QuotaSpent),
    (r"you're out of extra usage", QuotaSpent),  # subscriptions (anthropics/claude-code#45035)
    # OpenAI (songquanpeng/one-api#271, lifan0127/ai-research-assistant#174, continuedev/continue)
    (r"(?:account|key) .{0,60}\bdeactivated", AuthFailed),
    (r"your account is not active", BillingFailed),
    (r"organization must be verified to (?!generate reasoning summar)", PermissionDenied),
    # Google, 400 FAILED_PRECONDITION (google-gemini/gemini-cli#24641)
    (r"user location is not supported", PermissionDenied),
    # Claude on Vertex, 400 FAILED_PRECONDITION (yym68686/uni-api#41)
    (r"project .{1,200} is not allowed to use publisher model", PermissionDenied),
    # Bedrock, 400 ValidationException: of the account or its region (aws/aws-cli#8717,
    # langchain-ai/langchain#19215, aws-samples/amazon-bedrock-audio-summarizer#3)
    (r"^operation not allowed\.?$", PermissionDenied),
    (r"your account is not authorized to invoke this API operation", PermissionDenied),
    # DashScope, 400 Arrearage (hsliuping/TradingAgents-CN#170, tencentmusic/supersonic#1572)
    (r"make sure your account is in good standing", BillingFailed),
    # Fireworks, 412 PRECONDITION_FAILED (pollinations/pollinations#12136)
    (r"\baccount \S{1,200} is suspended", BillingFailed),
)
_KINDS = tuple((re.compile(pattern, re.IGNORECASE), kind) for pattern, kind in _BY_MESSAGE)


def find_account_error(message: str) -> type[ServiceError] | None:
    """Return the error that a message says of the account; None if it says none."""
    return next((kind for pattern, kind in _KINDS if pattern.search(message)), None)
