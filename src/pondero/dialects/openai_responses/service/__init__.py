"""The service side: reads requests, rejects invalid ones, writes answers."""

from pondero.dialects.answer_fields import AnswerFields
from pondero.dialects.conversation_marks import ConversationMarks
from pondero.dialects.dialect import (
    ErrorId,
    ModelEndpoints,
    OtherModels,
    PassthroughRules,
    Service,
    SignatureSlots,
    StoredIds,
    StoredResponses,
)
from pondero.dialects.kept_responses import KeptEndpoints, KeptResponses, SocketFrames
from pondero.dialects.portability import NeededField, Portability, list_answer_fields
from pondero.dialects.tables import ASKING_TOOLS, OPENROUTER_MIXES, QUIET_PLUGINS

from . import (
    address,
    client_tools,
    errors,
    kept_endpoints,
    kept_responses,
    models,
    parse,
    reply,
    rules,
    socket_frames,
    stored_calls,
    stored_ids,
    stream,
)
from . import stored_responses as stored
from .depth import DEPTH
from .media import MEDIA
from .turn_form import TURN_FORM
from .types import HOSTED_TOOLS

_ANSWERS = AnswerFields(
    places={"logprobs": (("include",),), "top": (("top_logprobs",),)},
    asks="message.output_text.logprobs",
)

_KEPT = KeptResponses(
    read=kept_responses.read,
    resume=kept_responses.resume,
    stream=kept_responses.write_stream_request,
    references=kept_responses.references,
    put=kept_responses.put,
    note=kept_responses.note,
    repeat=kept_responses.repeat,
    make_id=kept_responses.make_id,
    find_holder=kept_responses.find_holder,
    name_items=kept_responses.name_items,
    find_answer=kept_responses.find_kept,
    find_ended=kept_responses.find_ended,
    end_marks=kept_responses.ENDS,
    begin=kept_responses.begin,
    write_status=kept_responses.write_status,
    status_of=kept_responses.status_of,
    number_of=kept_responses.number_of,
    write_ended=kept_responses.write_ended,
    signed_by=("include", parse.ENCRYPTED),
    endpoints=KeptEndpoints(
        classify=kept_endpoints.classify,
        write_response=kept_endpoints.write_response,
        write_deleted=kept_endpoints.write_deleted,
        write_items=kept_endpoints.write_items,
        write_item=kept_endpoints.write_item,
        read_conversation=kept_endpoints.read_conversation,
        write_conversation=kept_endpoints.write_conversation,
        reject_response=kept_endpoints.reject_response,
        reject_conversation=kept_endpoints.reject_conversation,
        reject_item=kept_endpoints.reject_item,
        reject_cancel=kept_endpoints.reject_cancel,
        reject_stream=kept_endpoints.reject_stream,
    ),
    socket=SocketFrames(
        read=socket_frames.read,
        write_error=socket_frames.write_error,
        write_empty=socket_frames.write_empty,
        too_old=socket_frames.too_old,
    ),
)

SERVICE = Service(
    default_provider=address.HOME,
    matches_path=address.serves,
    requested_model=address.model_of,
    with_model=address.with_model,
    parse=parse.parse,
    turn_form=TURN_FORM,
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
        parse_count=models.counts,
        write_count=models.write_count,
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
        find_answer=stored_ids.find_answer,
        end_marks=stored_ids.END_MARKS,
        classify=stored_calls.classify,
        write=stored_calls.write,
        write_conversation=stored_calls.write_conversation,
    ),
    stored_ids=StoredIds(
        find=stored_ids.find,
        reject=stored_ids.reject,
        find_given=stored_ids.find_given,
        marks=stored_ids.MARKS,
        item_marks=(b'"item"',),
        is_named_in=stored_ids.is_named_in,
        levels_at=stored_ids.LEVELS_AT,
        forward=stored_ids.forward,
        named_at=stored_ids.NAMED_AT,
        leave_out=stored_ids.leave_out,
    ),
    kept_responses=_KEPT,
    shows_thinking=False,
    # requests of Codex 0.166.0, pi 0.87.1 and opencode 1.18.33
    conversation=ConversationMarks(
        headers=("session-id", "session_id"), fields=(("prompt_cache_key",),)
    ),
    passthrough=PassthroughRules(
        model_at=(("model",), ("response", "model")),
        headers=("openai-beta",),
        limits_at=(("max_output_tokens",),),
        background_at=((("background",), ()),),
        answers_at=(("multi_agent", "max_concurrent_subagents"),),
        # OpenAI, sub-agents (vendor guide responses-multi-agent); OpenRouter's Responses
        models_at=(("multi_agent",), ("models",), ("fallbacks",), ("preset",)),
        preset_marks=OPENROUTER_MIXES,
        others=OtherModels(
            tools=ASKING_TOOLS,
            turns="input",
            # openai 3.49.0 types: a model writes the SVG, with an effort of its own; that of the
            # image overrides the request's, and is the request's if left out
            marks=(("svg", None), ("output_format", "svg")),
            depth=frozenset({"effort"}),
            plugins_at="plugins",
            plugins=QUIET_PLUGINS,
        ),
        stored_at=("file_id",),
        labels=("metadata", "prompt_cache_key", "safety_identifier", "user"),
        hosted=HOSTED_TOOLS,
    ),
    depth=DEPTH,
    media=MEDIA,
    also_at=address.ALSO_AT,
    portability=Portability(
        maker="OpenAI",
        answers_silence=True,
        needed=(
            NeededField(
                path=("background",),
                why="the answer would have to be kept until it is fetched",
                asks=(True,),
            ),
            *list_answer_fields(_ANSWERS),
        ),
        answers=_ANSWERS,
        file_keys=("file_id",),
        hosted=(
            *("code_interpreter", "code_execution", "custom", "file_search", "image_generation"),
            *("mcp", "programmatic_tool_calling", "shell", "tool_search", "web_search"),
        ),
        as_functions=client_tools.as_functions,
    ),
)
