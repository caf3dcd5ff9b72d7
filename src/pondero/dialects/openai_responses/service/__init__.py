"""The service side: reads requests, rejects invalid ones, writes answers."""

from pondero.dialects.dialect import (
    ErrorId,
    ModelEndpoints,
    PassthroughRules,
    Service,
    SignatureSlots,
    StoredIds,
    StoredResponses,
)
from pondero.dialects.portability import NeededField, Portability

from . import (
    address,
    client_tools,
    errors,
    models,
    parse,
    reply,
    rules,
    stored_calls,
    stored_ids,
    stream,
)
from . import stored_responses as stored
from .depth import DEPTH
from .types import HOSTED_TOOLS

SERVICE = Service(
    default_provider=address.HOME,
    matches_path=address.serves,
    requested_model=address.model_of,
    with_model=address.with_model,
    parse=parse.parse,
    accept=rules.accept,
    reply=reply.reply,
    stream=stream.Stream,
    error=errors.error,
    error_id=ErrorId(header="x-request-id"),
    call_id=reply.call_id,
    slots=SignatureSlots(thinking=True, trailing_thinking=True),
    own_paths=address.OWN_PATHS,
    models=ModelEndpoints(
        classify=models.asks,
        write_list=models.write_list,
        requested_model=models.requested_model,
        write_any_list=models.write_any_list,
    ),
    stored_responses=StoredResponses(
        previous_id=stored.previous_id,
        stored_id=stored.stored_id,
        resume=stored.resume,
        conversation_id=stored.conversation_id,
        resume_conversation=stored.resume_conversation,
        resumed_conversation=stored.resumed_conversation,
        references=stored.references,
        put_items=stored.put_items,
        list_items=stored.list_items,
        is_background=stored.is_background,
        is_stored=stored.is_stored,
        find_items=stored_ids.find_items,
        end_marks=stored_ids.END_MARKS,
        classify=stored_calls.classify,
        write=stored_calls.write,
        write_conversation=stored_calls.write_conversation,
    ),
    stored_ids=StoredIds(
        find=stored_ids.find,
        reject=stored_ids.reject,
        find_given=stored_ids.find_given,
        mark=stored_ids.MARK,
    ),
    shows_thinking=False,
    passthrough=PassthroughRules(
        model_at=(("model",), ("response", "model")),
        headers=("openai-beta",),
        limits_at=(("max_output_tokens",),),
        background_at=(("background",),),
        stored_at=("previous_response_id", "conversation", "prompt", "file_id"),
        hosted=HOSTED_TOOLS,
    ),
    depth=DEPTH,
    portability=Portability(
        maker="OpenAI",
        answers_silence=True,
        needed=(
            NeededField(
                path=("background",),
                why="the answer would have to be kept until it is fetched",
                asks=(True,),
            ),
            NeededField(
                path=("top_logprobs",),
                why="it asks for log probabilities",
                idle=(0,),
                in_answer=True,
            ),
        ),
        file_keys=("file_id",),
        hosted=(
            *("code_interpreter", "code_execution", "custom", "file_search", "image_generation"),
            *("mcp", "programmatic_tool_calling", "shell", "tool_search", "web_search"),
        ),
        as_functions=client_tools.as_functions,
    ),
)
