"""The service's side: how it reads a request, what it rejects, and how it answers."""

from pondero.dialects import bodies
from pondero.dialects.dialect import ErrorId, ModelEndpoints, PassthroughRules, Service
from pondero.dialects.portability import NeededField, Portability

from . import errors, models, parse, reply, rules
from .depth import DEPTH
from .media import MEDIA

SERVICE = Service(
    default_provider=models.HOME,
    matches_path=parse.serves,
    requested_model=bodies.model_of,
    with_model=bodies.with_model,
    parse=parse.parse,
    accept=rules.accept,
    reply=reply.reply,
    stream=reply.stream,
    error=errors.error,
    error_id=ErrorId(field="id"),
    call_id=reply.call_id,
    models=ModelEndpoints(
        classify=models.asks,
        write_list=models.write_list,
        requested_model=models.requested_model,
        write_any_list=models.write_any_list,
    ),
    own_headers=frozenset({models.SDK}),
    own_paths=parse.OWN_PATHS,
    passthrough=PassthroughRules(limits_at=(("max_tokens",),)),
    depth=DEPTH,
    media=MEDIA,
    portability=Portability(
        maker="Cohere",
        needed=(
            NeededField(
                path=("logprobs",),
                why="it asks for log probabilities",
                asks=(True,),
                in_answer=True,
            ),
            NeededField(path=("documents",), why="the answer must be based on them"),
        ),
        common={"seed": (("seed",),)},
    ),
)
