"""The caller's side: what we send, and how we read what comes back."""

from pondero.dialects.dialect import Caller, ListPages, ModelListing
from pondero.dialects.schema_rules import HOST_PLAIN, OutputSupport

from . import errors, parts, request, response, stream

# Names of tools: those that OpenAI takes. That is inferred: only the first version of the API has a
# documented rule (service/rejections.toml, gaps), and names of that rule fit this one.
CALLER = Caller(
    encode=request.encode,
    decode=response.decode,
    stream=stream.stream,
    error=errors.error,
    match_score=response.match_score,
    output=OutputSupport(plain=HOST_PLAIN, json_word="prompt"),
    replay_rules=request.replay_rules,
    quirks=request.Quirks,
    unsupported_parameters=request.UNSAID,
    # cohere 7.3.1, models.list: other endpoints answer no chat
    listing=ModelListing(
        "/v1/models",
        "models",
        "name",
        pages=ListPages("endpoint=chat&page_size=1000", "page_token", "next_page_token"),
    ),
    is_plan=parts.is_plan,
    stop_words=frozenset({"STOP_SEQUENCE"}),
)
