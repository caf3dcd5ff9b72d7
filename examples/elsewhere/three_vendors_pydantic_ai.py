"""examples/three_vendors.py with pydantic-ai."""

import argparse
import sqlite3
from contextlib import closing

from pydantic_ai import Agent, ModelMessage, ModelMessagesTypeAdapter
from pydantic_ai.settings import ThinkingLevel

TURNS: tuple[tuple[str, ThinkingLevel, str], ...] = (
    ("anthropic:claude-opus-5", "medium", "My name is Ada. What is 17 * 23?"),
    ("openai-responses:gpt-5.5", "low", "What is 391 + 9?"),
    ("google:gemini-3-flash-preview", "high", "What is 400 / 4?"),
    ("anthropic:claude-opus-5", "low", "What is my name?"),
)
TABLE = "CREATE TABLE IF NOT EXISTS conversations (id TEXT PRIMARY KEY, chat TEXT NOT NULL)"


def load_history(database: sqlite3.Connection, id: str) -> list[ModelMessage]:
    row = database.execute("SELECT chat FROM conversations WHERE id = ?", (id,)).fetchone()
    return [] if row is None else ModelMessagesTypeAdapter.validate_json(row[0])


def save_history(database: sqlite3.Connection, id: str, messages: bytes) -> None:
    with database:
        database.execute("INSERT OR REPLACE INTO conversations VALUES (?, ?)", (id, messages))


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="One conversation, three vendors, one database.")
    parser.add_argument("database")
    chosen = parser.parse_args(arguments)
    with closing(sqlite3.connect(chosen.database)) as database:
        database.execute(TABLE)
        for model, level, prompt in TURNS:
            agent = Agent(model, model_settings={"thinking": level, "max_tokens": 16_000})
            result = agent.run_sync(prompt, message_history=load_history(database, "trip"))
            save_history(database, "trip", result.all_messages_json())
            print(f"{model}/{level}: {result.output}")


if __name__ == "__main__":
    main()
