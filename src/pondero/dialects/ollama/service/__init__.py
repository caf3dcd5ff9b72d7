"""The service's side: how it reads a request, what it rejects, and how it answers."""

from pondero.dialects import bodies
from pondero.dialects.dialect import ModelEndpoints, PassthroughRules, Service
from pondero.dialects.portability import NeededField, Portability

from . import errors, models, parse, reply, rules, types
from .depth import DEPTH

SERVICE = Service(
    default_provider=types.NAME,
    matches_path=parse.serves,
    requested_model=bodies.model_of,
    with_model=bodies.with_model,
    parse=parse.parse,
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
        needed=(
            NeededField(
                path=("logprobs",),
                why="it asks for log probabilities",
                asks=(True,),
                in_answer=True,
            ),
        ),
        groups=("options",),
        common={"seed": (("options", "seed"),)},
    ),
)
