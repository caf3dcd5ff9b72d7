"""What llm's own documentation shows, with one of our models: commands first, then Python."""

import asyncio
import json

import pytest

llm = pytest.importorskip("llm", reason="llm is not installed")

import llm_pondero  # noqa: E402 - needs llm
from click.testing import CliRunner  # noqa: E402 - see above
from llm.cli import cli  # noqa: E402 - see above
from llm.plugins import load_plugins, pm  # noqa: E402 - see above
from llm.utils import make_schema_id  # noqa: E402 - see above
from pydantic import BaseModel  # noqa: E402 - see above

from pondero.emulator import ScriptedCall, ScriptedTurn  # noqa: E402 - see above

pytestmark = [pytest.mark.judge, pytest.mark.filterwarnings("ignore")]
CLAUDE, GPT, GEMINI = (
    f"pondero/{name}/low" for name in ("claude-opus-5", "gpt-5.5", "gemini-3-flash-preview")
)
EACH = pytest.mark.parametrize("model", [CLAUDE, GPT, GEMINI])
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c63"
    "60000002000001e221bc330000000049454e44ae426082"
)


@pytest.fixture(autouse=True)
def plugin(tmp_path, monkeypatch):
    """Load the plugin for one test, with llm's files in a folder of its own."""
    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path / "llm"))
    monkeypatch.setattr("sys._called_from_test", True, raising=False)
    load_plugins()
    pm.register(llm_pondero, "pondero")
    yield
    pm.unregister(llm_pondero)


@pytest.fixture
def run(emulator):
    """Run a command of llm, and return its output; its question goes to the emulator."""

    def start(*words, given=None, model=None):
        chosen = ["-m", model, "-o", "offline", "1"] if model else []
        ran = CliRunner().invoke(cli, [*words, *chosen], input=given)
        assert ran.exit_code == 0, (ran.output, ran.exception)
        return ran.stdout

    return start


def sent(emulator):
    return json.dumps([entry.body for entry in emulator.log.entries])


# -- usage.md ----------------------------------------------------------------------------------


@EACH
def test_a_prompt_with_a_system_prompt_from_a_pipe(run, emulator, model):
    emulator.expect("Pouch, Scoop and Gulp")
    assert run("Names for a pelican", "-s", "Be funny", given="It is a bird.", model=model) == (
        "Pouch, Scoop and Gulp\n"
    )
    assert all(word in sent(emulator) for word in ("It is a bird.", "Names for", "Be funny"))


def test_options_of_the_model(run, emulator):
    run("Hello", "-o", "temperature", "0.7", "-o", "max_tokens", "4000", model="pondero/gpt-4.1")
    assert '"temperature": 0.7' in sent(emulator)
    assert '"max_output_tokens": 4000' in sent(emulator)
    kept = ("models", "options", "set", CLAUDE, "think", "max")
    run(*kept)
    run("Hello", model=CLAUDE)
    assert '"effort": "max"' in sent(emulator), "an option kept for a model that llm does not list"


def test_the_fenced_code_of_an_answer(run, emulator):
    emulator.expect("Here:\n```javascript\nlet x = 1;\n```\nDone.")
    assert run("A variable in JavaScript", "-x", model=CLAUDE) == "let x = 1;\n\n"


@EACH
def test_a_conversation_goes_on(run, emulator, model):
    run("Ten names for cheesecakes", model=model)
    run("Make them shorter", "-c", model=model)
    assert "Ten names for cheesecakes" in json.dumps(emulator.log.entries[1].body)


@EACH
def test_a_chat_until_quit(run, emulator, model):
    said = run(
        "chat", given="What is 17 * 23?\n!multi\nAnd what is\n391 - 1?\n!end\nquit\n", model=model
    )
    assert "17 * 23 = 391" in said
    assert "391 - 1" in json.dumps(emulator.log.entries[1].body)
    assert "17 * 23 = 391" in json.dumps(emulator.log.entries[1].body)


@EACH
def test_attachments_of_a_file_of_a_pipe_and_with_a_type(run, emulator, model, tmp_path):
    picture = tmp_path / "image.png"
    picture.write_bytes(PNG)
    run("Describe this", "-a", str(picture), model=model)
    run("Describe this", "-a", "-", given=PNG, model=model)
    run("Describe this", "--at", str(picture), "image/png", model=model)
    assert sent(emulator).count("iVBORw0KGgo") == 3


def test_fragments_and_a_template_with_a_parameter(run, emulator, tmp_path):
    fragment = tmp_path / "notes.txt"
    fragment.write_text("Pelicans eat fish.")
    run("Summarise", "-f", str(fragment), model=CLAUDE)
    assert "Pelicans eat fish." in sent(emulator)
    run("Say hello to $name", "--save", "greet", model=CLAUDE)
    run("-t", "greet", "-p", "name", "Ada")
    assert "Say hello to Ada" in sent(emulator)


# -- schemas.md --------------------------------------------------------------------------------


@EACH
def test_a_dog_by_the_short_form_of_a_schema(run, emulator, model):
    dog = json.loads(run("invent a cool dog", "--schema", "name, age int, bio", model=model))
    assert dog.keys() == {"name", "age", "bio"}
    assert isinstance(dog["age"], int)
    logged = json.loads(run("logs", "-c", "--data"))
    assert logged == dog


def test_several_dogs_and_the_same_schema_again_by_its_id(run, emulator):
    several = ("--schema-multi", "name: the dog's name\nage int")
    assert "items" in json.loads(run("invent three dogs", *several, model=GPT))
    known, _ = make_schema_id(llm.schema_dsl(several[1], multi=True))  # `llm schemas` shows it
    again = run("invent one more", "--schema", known, model=GPT)
    assert "items" in json.loads(again)


# -- tools.md ----------------------------------------------------------------------------------


@EACH
def test_the_tools_that_llm_has(run, emulator, model):
    emulator.expect(ScriptedTurn(tool_calls=(ScriptedCall("llm_version"),)), "Version it is.")
    said = run("What version is this?", "-T", "llm_version", "--td", model=model)
    assert "Version it is." in said
    assert llm.cli.version("llm") in json.dumps(emulator.log.entries[1].body)


MULTIPLY = '''
def multiply(x: int, y: int) -> int:
    """Multiply two numbers."""
    return x * y
'''


@EACH
def test_a_function_of_the_command_line(run, emulator, model):
    call = ScriptedCall("multiply", {"x": 34234, "y": 213345})
    emulator.expect(ScriptedTurn(tool_calls=(call,)), "It is 7303652730.")
    run("What is 34234 * 213345?", "--functions", MULTIPLY, model=model)
    assert "7303652730" in json.dumps(emulator.log.entries[1].body)


# -- python-api.md -----------------------------------------------------------------------------


def upper(text: str) -> str:
    """Convert text to uppercase."""
    return text.upper()


PANDA = ScriptedTurn(tool_calls=(ScriptedCall("upper", {"text": "panda"}),))


class Dog(BaseModel):
    name: str
    age: int


@EACH
def test_a_response_its_usage_and_its_text(emulator, model):
    response = llm.get_model(model).prompt("What is 17 * 23?", system="Be brief.", offline=True)
    assert str(response) == response.text() == "17 * 23 = 391"
    assert response.usage().input > 0
    assert response.json()["verdict"] == "as_planned"
    done = []
    response.on_done(done.append)
    assert done == [response]


@EACH
def test_tool_calls_their_results_and_a_chain(emulator, model):
    known = llm.get_model(model)
    emulator.expect(PANDA)
    response = known.prompt("Convert panda to upper", tools=[upper], offline=True)
    (call,) = response.tool_calls()
    assert (call.name, call.arguments) == ("upper", {"text": "panda"})
    (result,) = response.execute_tool_calls()
    assert result.output == "PANDA"
    emulator.expect(PANDA, "It is PANDA.")
    before, after = [], []
    chain = known.chain(
        "Convert panda to upper",
        tools=[upper],
        before_call=lambda tool, call: before.append((tool.name, call.arguments)),
        after_call=lambda _tool, _call, result: after.append(result.output),
        options={"offline": True},
    )
    assert "".join(chain) == "It is PANDA."
    assert (before, after) == ([("upper", {"text": "panda"})], ["PANDA"])


@EACH
def test_a_toolbox_that_remembers_in_a_conversation(emulator, model):
    class Memory(llm.Toolbox):
        def __init__(self):
            self.kept = {}

        def set(self, key: str, value: str):
            """Set something as a key."""
            self.kept[key] = value

    memory = Memory()
    conversation = llm.get_model(model).conversation(tools=[memory])
    call = ScriptedCall("Memory_set", {"key": "name", "value": "Ada"})
    emulator.expect(ScriptedTurn(tool_calls=(call,)), "Set.")
    said = conversation.chain("Set name to Ada", options={"offline": True}).text()
    assert (said, memory.kept) == ("Set.", {"name": "Ada"})


@EACH
def test_a_schema_as_a_class_and_an_attachment_as_bytes(emulator, model):
    known = llm.get_model(model)
    dog = json.loads(known.prompt("Describe a nice dog", schema=Dog, offline=True).text())
    assert Dog.model_validate(dog)
    picture = llm.Attachment(content=PNG, type="image/png")
    known.prompt("Describe this", attachments=[picture], offline=True).text()
    assert "iVBORw0KGgo" in sent(emulator)


@EACH
def test_a_conversation_with_and_without_asyncio(emulator, model):
    conversation = llm.get_model(model).conversation()
    conversation.prompt("What is 17 * 23?", offline=True).text()
    assert conversation.prompt("What is 391 - 1?", offline=True).text() == "391 - 1 = 390"
    assert "17 * 23 = 391" in json.dumps(emulator.log.entries[1].body)

    async def ask():
        known = llm.get_async_model(model)
        pieces = [piece async for piece in known.prompt("What is 2 + 2?", offline=True)]
        return "".join(pieces)

    assert asyncio.run(ask()) == "2 + 2 = 4"
