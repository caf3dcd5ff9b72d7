"""The service's side: how it reads a request, what it rejects, and how it answers."""

from pondero.dialects import bodies
from pondero.dialects.answer_fields import AnswerFields
from pondero.dialects.dialect import ModelEndpoints, PassthroughRules, Service
from pondero.dialects.portability import Portability, list_answer_fields

from . import errors, models, parse, reply, rules, types
from .depth import DEPTH

_ANSWERS = AnswerFields(places={"logprobs": (("logprobs",),), "top": (("top_logprobs",),)})

SERVICE = Service(
    default_provider=types.NAME,
    matches_path=parse.serves,
    requested_model=bodies.model_of,
    with_model=bodies.with_model,
    parse=parse.parse,
    unwrap=parse.unwrap,
    accept=rules.accept,
    reply=reply.reply,
    stream=reply.stream,
    error=errors.error,
    call_id=reply.call_id,
    models=ModelEndpoints(
        classify=models.asks,
        write_list=models.write_list,
        requested_model=models.requested_model,
        write_any_list=models.write_any_list,
    ),
    own_paths=parse.OWN_PATHS,
    ping=b"",
    passthrough=PassthroughRules(model_at=(("model",),), limits_at=(("options", "num_predict"),)),
    depth=DEPTH,
    portability=Portability(
        answers_silence=True,
        needed=list_answer_fields(_ANSWERS),
        answers=_ANSWERS,
        groups=("options",),
        common={"seed": (("options", "seed"),)},
    ),
)
