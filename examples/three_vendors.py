"""Keep a conversation in a database, and continue it with models of three vendors.

    python examples/three_vendors.py trip.db
    python examples/three_vendors.py trip.db --offline

Every turn loads the conversation, asks, and stores it again, as a web application does. Each model
gets what it may read: a handoff withholds signatures and thinking of the others, and says so. They
stay in the database, so the first model has its own thinking back in the last turn.
"""

import argparse
import sqlite3
from contextlib import closing

import pondero
from pondero.emulator import Emulator

TURNS = (
    ("claude-opus-5/medium", "My name is Ada. What is 17 * 23?"),
    ("gpt-5.5/low", "What is 391 + 9?"),
    ("gemini-3-flash-preview/high", "What is 400 / 4?"),
    ("claude-opus-5/low", "What is my name?"),
)
TABLE = "CREATE TABLE IF NOT EXISTS conversations (id TEXT PRIMARY KEY, chat TEXT NOT NULL)"


def load_chat(
    database: sqlite3.Connection, id: str, model: str, client: pondero.Client
) -> pondero.Chat:
    """Return a conversation, for another model if it was with one; a new one if there is none."""
    row = database.execute("SELECT chat FROM conversations WHERE id = ?", (id,)).fetchone()
    if row is None:
        return pondero.Chat(model, client=client)
    chat = pondero.Chat.from_json(row[0], client=client)
    chat.model = model
    return chat


def save_chat(database: sqlite3.Connection, id: str, chat: pondero.Chat) -> None:
    with database:
        database.execute("INSERT OR REPLACE INTO conversations VALUES (?, ?)", (id, chat.to_json()))


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="One conversation, three vendors, one database.")
    parser.add_argument("database")
    parser.add_argument("--offline", action="store_true", help="ask the emulator")
    chosen = parser.parse_args(arguments)
    with (
        closing(sqlite3.connect(chosen.database)) as database,
        pondero.Client(transport=Emulator() if chosen.offline else None) as client,
    ):
        database.execute(TABLE)
        for model, prompt in TURNS:
            chat = load_chat(database, "trip", model, client)
            reply = chat.send(prompt)
            save_chat(database, "trip", chat)
            print(f"{model}: {reply.text}")
            print(f"  {chat.handoff}".replace("\n", "\n  "))


if __name__ == "__main__":
    main()
