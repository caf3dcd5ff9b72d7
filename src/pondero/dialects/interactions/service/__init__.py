"""The service's side: how it reads a request, what it rejects, and how it answers."""

from pondero.dialects.dialect import (
    HostedTools,
    PassthroughRules,
    Service,
    SignatureSlots,
    StoredIds,
    StoredResponses,
)
from pondero.dialects.portability import NeededField, Portability
from pondero.dialects.resource_names import find_resource

from . import address, errors, parse, reply, rules, stored_ids, stream
from . import stored_interactions as stored
from .depth import DEPTH
from .media import MEDIA
from .types import FORMATS

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
    call_id=reply.call_id,
    slots=SignatureSlots(thinking=True, thinking_leads=True),
    own_paths=address.OWN_PATHS,
    bad_key_errors=errors.BAD_KEY,
    stored_responses=StoredResponses(
        previous_id=stored.previous_id,
        stored_id=stored.stored_id,
        resume=stored.resume,
        conversation_id=stored.conversation_id,
        resume_conversation=stored.resume_conversation,
        resumed_conversation=stored.conversation_id,
        references=stored.references,
        put_items=stored.put_items,
        list_items=stored.list_items,
        is_background=stored.is_background,
        is_stored=stored.is_stored,
        find_answer=stored_ids.find_answer,
        end_marks=stored_ids.END_MARKS,
        classify=stored.classify,
        write=stored.write,
        write_conversation=stored.write_conversation,
    ),
    stored_ids=StoredIds(
        find=stored_ids.find,
        reject=stored_ids.reject,
        find_given=stored_ids.find_given,
        marks=stored_ids.MARKS,
        forward=stored_ids.forward,
        find_address=find_resource,
        named_at=stored_ids.NAMED_AT,
    ),
    shows_thinking=False,
    passthrough=PassthroughRules(
        model_at=(("model",), ("interaction", "model")),
        headers=("api-revision",),
        limits_at=(("generation_config", "max_output_tokens"),),
        # google-genai 3.1.0, ServiceTier: a deferred answer is queued, and fetched within a day
        background_at=((("background",), ()), (("service_tier",), ("deferred",))),
        stored_at=("uri",),
        labels=("labels",),
        hosted=HostedTools(client_run=frozenset({"function", "computer_use"})),
    ),
    depth=DEPTH,
    media=MEDIA,
    portability=Portability(
        maker="Google",
        needed=(
            NeededField(
                path=("background",),
                why="the answer would have to be kept until it is fetched",
                asks=(True,),
            ),
            NeededField(
                path=("response_modalities",),
                why="it asks for sound or pictures",
                idle=(["text"],),
                in_answer=True,
            ),
            NeededField(
                path=("response_format",),
                why="it asks for sound, pictures or film",
                types=FORMATS - {"text"},
                in_answer=True,
            ),
        ),
        groups=("generation_config",),
        common={"seed": (("generation_config", "seed"),)},
        file_keys=("uri",),
        own_addresses=(
            "https://generativelanguage.googleapis.com/",
            "gs://",
            "https://www.youtube.com/",
            "https://youtube.com/",
            "https://youtu.be/",
        ),
    ),
)
