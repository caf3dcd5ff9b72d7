"""The chat on a terminal. A reducer decides (see ``chat``); what is here talks, keeps and draws."""

from .app import ChatApp
from .colours import theme_of
from .conversation import Conversation
from .keeper import Keeper

__all__ = ["ChatApp", "Conversation", "Keeper", "theme_of"]
