"""The real program in a terminal, against the emulator."""

from tests.tui.conftest import KEY
from tests.tui.terminal import running

from pondero.store import Threads


def test_a_conversation_from_beginning_to_end_and_again(environment, tmp_path):
    low = ("chat", "--offline", "claude-opus-5/low")
    with running(*low, environment=environment, lines=60) as terminal:
        terminal.until("Anthropic claude-opus-5", "low effort", "offline", "/help")
        terminal.press("What is 17 * 23?\r")
        terminal.until("▸ thought", "17 * 23 = 391", " · thinking 53 · answer 4 ")
        terminal.press("\x0f")  # ctrl+o
        terminal.until("▾ thought", "First, 17 * 23 = 391.")
        terminal.press("/model gemini-3-pro/none\r")
        terminal.until("✓ Switched to Google gemini-3-pro", "Handoff:", "off → low")
        terminal.press("My number is 17.\r")
        terminal.until("Noted: number is 17.", " · answer 9 ")
        terminal.press("/raw\r")
        terminal.until("usageMetadata")
        terminal.press("\x1b[5~")  # page up, from the end of the answer
        terminal.until("thinkingLevel", "text/event-stream")
        terminal.resize(60, 20)
        terminal.until("gemini-3-pro")
        terminal.press("\x04")  # ctrl+d
        assert terminal.ended() == 0
        assert KEY.encode() not in terminal.seen
    with Threads.open(tmp_path / "data" / "threads.db") as threads:
        assert threads.get("last").messages == 4
    with running("chat", "--offline", "--resume", environment=environment) as terminal:
        terminal.until("Noted: number is 17.", "gemini-3-pro")
        terminal.press("What is my number?\r")
        terminal.until("number is 17.\n", " · thinking ")
        terminal.press("/quit\r")
        assert terminal.ended() == 0


def test_bytes_that_are_not_utf_8_are_typed_and_end_nothing(environment):
    with running("chat", "--offline", environment=environment) as terminal:
        terminal.until("/help")
        terminal.press("caf\udce9, \udcf0\udc9f and 6 * 7?\r")  # Latin-1, then half an emoji
        terminal.until("caf\ufffd, \ufffd and", " · answer ")
        terminal.press("\udcf0\udc9f")  # a character in two pieces
        terminal.press("\udc98\udc80")
        terminal.until("😀")
        terminal.press("\x15/quit\r")
        assert terminal.ended() == 0


def test_keys_that_come_all_at_once_are_done_in_their_order(environment):
    with running("chat", "--offline", environment=environment) as terminal:
        terminal.until("/help")
        terminal.press("wrong\x15is 6 * 7?\x01What \x05\x1b[D\x7f8\r")
        terminal.until("▌ What is 6 * 8?", "6 * 8 = 48", " · answer ")
        terminal.press("wrong\x15/quit\r")
        assert terminal.ended() == 0


def test_without_a_model_it_begins_with_what_was_settled(environment, tmp_path):
    (tmp_path / "config").mkdir()
    settled = 'model = "gpt-5.1"\nthinking = "high"\nsave = false\n'
    (tmp_path / "config" / "config.toml").write_text(settled)
    with running("chat", "--offline", environment=environment) as terminal:
        terminal.until("OpenAI gpt-5.1 · thinking: high effort")
        terminal.press("say hi\r")
        terminal.until("answer 1")
        terminal.press("\x04")
        assert terminal.ended() == 0
    assert not (tmp_path / "data").exists()
    with running("chat", "--offline", "claude-opus-5/low", environment=environment) as terminal:
        terminal.until("Anthropic claude-opus-5 · thinking: low effort")
        terminal.press("\x04")
        assert terminal.ended() == 0


def test_a_stop_in_the_middle_keeps_what_came(environment, tmp_path):
    with running("chat", "--offline", "claude-opus-5/off", environment=environment) as terminal:
        terminal.until("thinking: off")
        terminal.press("say one two three four five [emulator: fault slow 30]\r")
        terminal.until("waiting for claude-opus-5")
        terminal.press("\x1b")
        terminal.until("stopped before an answer")
        terminal.until("│ say one")
        terminal.press("\x03")  # ctrl+c clears the words that came back
        terminal.until("│ Say something")
        terminal.press("say six\r")
        terminal.until("▌ say six", "context 0%")
        terminal.press("\x04")
        assert terminal.ended() == 0
    with Threads.open(tmp_path / "data" / "threads.db") as threads:
        assert [message.text for message in threads.messages("last")] == ["say six", "six"]


def test_a_damaged_file_is_put_aside_and_the_chat_begins(environment, tmp_path):
    (tmp_path / "data").mkdir()
    damaged = b"this is no database" * 1000
    (tmp_path / "data" / "threads.db").write_bytes(damaged)
    with running("chat", "--offline", environment=environment) as terminal:
        terminal.until("was damaged", "moved to")
        terminal.press("\x04")
        assert terminal.ended() == 0
    (aside,) = (tmp_path / "data").glob("threads.db.broken-*")
    assert aside.read_bytes() == damaged


def test_where_nothing_can_be_kept_the_chat_begins_all_the_same(environment, tmp_path):
    (tmp_path / "data").write_text("a file where the folder should be")
    with running("chat", "--offline", environment=environment) as terminal:
        terminal.until("the chat continues, unsaved", "· unsaved")
        terminal.press("say hi\r")
        terminal.until("· unsaved", "answer 1")
        terminal.press("\x04")
        assert terminal.ended() == 0
    assert (tmp_path / "data").read_text() == "a file where the folder should be"


def test_an_unknown_model_or_thread_is_a_sentence_and_no_screen(environment):
    with running("chat", "claud-opus-5", environment=environment) as terminal:
        assert terminal.ended() == 2
        assert "did you mean 'claude-opus-5'" in terminal.text.replace("\n", "")
    with running("chat", "--resume", "zzz", environment=environment) as terminal:
        assert terminal.ended() == 2
        assert "no thread 'zzz'" in terminal.text
    with running("chat", "--resume", "--no-save", environment=environment) as terminal:
        assert terminal.ended() == 2
        assert "--no-save saves none" in terminal.text.replace("\n", " ")


def test_at_its_end_it_says_how_to_continue_and_words_find_a_thread(environment, tmp_path):
    off = ("chat", "--offline", "claude-opus-5/off")
    for words in ("say heron", "say tax alpha", "say tax beta"):
        with running(*off, environment=environment) as terminal:
            terminal.until("/help")
            terminal.press(f"{words}\r")
            terminal.until(" · answer ")
            terminal.press("/quit\r")
            assert terminal.ended() == 0
        with Threads.open(tmp_path / "data" / "threads.db") as threads:
            id = threads.get("last").id
        assert f"continue with: pondero chat --resume {id} --offline" in terminal.text
    with running("chat", "--offline", "--resume", "heron", environment=environment) as terminal:
        terminal.until("▌ say heron")
    with running("chat", "--offline", "--resume", "tax", environment=environment) as terminal:
        terminal.until("continue a thread", "say tax alpha", "say tax beta")
        terminal.press("\x1b[B\r")
        terminal.until("▌ say tax alpha")
    with running("chat", "--offline", "--resume", "walrus", environment=environment) as terminal:
        assert terminal.ended() == 2
        assert "no thread 'walrus'" in terminal.text
