"""Gives requests of one session that begin at the same time one home.

An agent asks for a title, or starts subagents, while its first question is being answered. Each of
these requests finds no home yet; the first one that is placed claims it for all, on any replica.
"""

from ..server.context import GatewayContext
from .accounts import ModelTurn
from .conversation import Conversation


async def find_shared_home(
    gateway: GatewayContext, conversation: Conversation, turn: ModelTurn
) -> Conversation | None:
    """Claim a home for a session that was placed just now; return it at home if another was first.

    Conversations without a session are not claimed: the same question at the same time, asked often
    by one client, is shared among all accounts.
    """
    key = conversation.keys.get(turn.entry.provider.name)
    if key is None or not conversation.is_session or conversation.find_home(turn.entry) is not None:
        return None
    home = await gateway.memory.claim(key, turn.entry.deployment.encode())
    if home == turn.entry.deployment.encode():
        return None
    gateway.accounts.forget_placed(turn)
    return conversation.with_found({key: home})
