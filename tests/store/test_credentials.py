"""Where keys and addresses come from."""

import traceback

import pytest

import pondero
from pondero.client import load_catalog
from pondero.errors import BadParameter, MissingKey
from pondero.store import NO_KEY, find_key, resolve_url


def provider(name):
    return load_catalog().catalog.providers[name]


def test_the_first_of_a_providers_variables_that_is_set_counts(monkeypatch):
    monkeypatch.setenv("GOOGLE_API_KEY", "second")
    assert find_key(provider("google"), {}, needed=True) == "second"
    monkeypatch.setenv("GEMINI_API_KEY", " first ")
    assert find_key(provider("google"), {}, needed=True) == "first"
    assert find_key(provider("google"), {"google": "given"}, needed=True) == "given"


def test_where_no_key_is_looked_at_none_is_needed():
    assert find_key(provider("openai"), {}, needed=False) == NO_KEY
    assert find_key(provider("lmstudio"), {}, needed=True) is None


@pytest.mark.parametrize("key", ["sk–or–dashes", "schlüssel", "two\nlines"])
def test_a_key_that_cannot_be_sent_is_told_by_its_variable_and_not_shown(monkeypatch, key):
    monkeypatch.setenv("GROQ_API_KEY", key)
    with pytest.raises(
        BadParameter, match=r"key of Groq in GROQ_API_KEY contains characters"
    ) as caught:
        find_key(provider("groq"), {}, needed=True)
    assert key not in str(caught.value)
    with pytest.raises(BadParameter, match="that was given"):
        find_key(provider("groq"), {"groq": key}, needed=True)


@pytest.mark.parametrize("empty", [None, "", "  "])
def test_a_missing_key_names_its_variable(monkeypatch, empty):
    if empty is not None:
        monkeypatch.setenv("OPENAI_API_KEY", empty)
    with pytest.raises(MissingKey, match=r"OpenAI needs a key: set OPENAI_API_KEY"):
        find_key(provider("openai"), {}, needed=True)


def test_a_traceback_of_a_missing_key_says_how_to_try_without_one():
    with pytest.raises(MissingKey) as caught:
        find_key(provider("openai"), {}, needed=True)
    *_, last = traceback.format_exception_only(caught.value)
    assert "pondero.Client(transport=Emulator())" in last
    names: dict[str, object] = {"pondero": pondero}
    exec(last.partition("write: ")[2], names)  # what it says works as it is


@pytest.mark.parametrize(
    ("name", "variable", "said", "url"),
    [
        ("openai", "OPENAI_BASE_URL", "http://localhost:9/api/v1/", "http://localhost:9/api/v1"),
        ("openai", "OPENAI_BASE_URL", "http://localhost:9", "http://localhost:9/v1"),
        ("anthropic", "ANTHROPIC_BASE_URL", "http://localhost:9/", "http://localhost:9"),
        ("groq", "GROQ_BASE_URL", "http://localhost:9", "http://localhost:9/openai/v1"),
        ("cerebras", "CEREBRAS_BASE_URL", "http://localhost:9", "http://localhost:9/v1"),
        ("google", "GOOGLE_GEMINI_BASE_URL", "http://localhost:9", "http://localhost:9/v1beta"),
        ("azure", "AZURE_OPENAI_ENDPOINT", "https://me.openai.azure.com/", "https://me.openai.azure.com/openai/v1"),
        ("ollama", "OLLAMA_HOST", "box:8080", "http://box:8080"),
        ("ollama", "OLLAMA_HOST", "box", "http://box:11434"),
        ("ollama", "OLLAMA_HOST", ":8080", "http://localhost:8080"),
        ("ollama", "OLLAMA_HOST", "box/under/", "http://box:11434/under"),
        ("ollama", "OLLAMA_HOST", "[::1]", "http://[::1]:11434"),
        ("ollama", "OLLAMA_HOST", "https://box", "https://box"),
        ("ollama", "OLLAMA_HOST", "0.0.0.0", "http://127.0.0.1:11434"),
        ("ollama", "OLLAMA_HOST", "http://0.0.0.0:8080", "http://127.0.0.1:8080"),
        ("ollama", "OLLAMA_HOST", "[::]:8080", "http://[::1]:8080"),
    ],
)  # fmt: skip
def test_an_address_of_ones_own_gets_the_path_its_sdk_would_add(
    monkeypatch, name, variable, said, url
):
    monkeypatch.setenv(variable, said)
    assert resolve_url(provider(name), {}, needed=True) == url


def test_a_host_alone_is_no_address_of_a_service_on_the_internet(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "box")
    said = "invalid ANTHROPIC_BASE_URL 'box'; use http:// or https://"
    with pytest.raises(BadParameter, match=said):
        resolve_url(provider("anthropic"), {}, needed=True)
    with pytest.raises(BadParameter, match="invalid base URL 'other'"):
        resolve_url(provider("anthropic"), {"anthropic": "other"}, needed=True)


@pytest.mark.parametrize(
    ("name", "variables"),
    [
        ("azure", "AZURE_OPENAI_RESOURCE_NAME or AZURE_RESOURCE_NAME or AZURE_OPENAI_ENDPOINT"),
        ("azure-anthropic", "ANTHROPIC_FOUNDRY_RESOURCE or ANTHROPIC_FOUNDRY_BASE_URL"),
        ("vertex", "GOOGLE_CLOUD_PROJECT or GOOGLE_VERTEX_PROJECT"),
        ("vertex-anthropic", "ANTHROPIC_VERTEX_PROJECT_ID or GOOGLE_CLOUD_PROJECT"),
    ],
)
def test_an_address_with_blanks_that_nobody_fills_names_the_variables(name, variables):
    with pytest.raises(MissingKey, match=f"is missing; set {variables}$"):
        resolve_url(provider(name), {}, needed=True)


@pytest.mark.parametrize("name", [p.name for p in load_catalog().catalog.providers.values()])
def test_where_nobody_looks_every_address_is_whole(name):
    assert not set("{}") & set(resolve_url(provider(name), {}, needed=False))


VERTEX = "googleapis.com/v1/projects/mine/locations"


@pytest.mark.parametrize(
    ("name", "variables", "url"),
    [
        ("azure", {"AZURE_RESOURCE_NAME": "me"}, "https://me.openai.azure.com/openai/v1"),
        ("azure-anthropic", {"ANTHROPIC_FOUNDRY_RESOURCE": "me"}, "https://me.services.ai.azure.com/anthropic"),
        ("bedrock", {}, "https://bedrock-runtime.us-east-1.amazonaws.com"),
        ("bedrock", {"AWS_DEFAULT_REGION": "eu-west-3"}, "https://bedrock-runtime.eu-west-3.amazonaws.com"),
        ("bedrock", {"AWS_REGION": "eu-north-1", "AWS_DEFAULT_REGION": "eu-west-3"}, "https://bedrock-runtime.eu-north-1.amazonaws.com"),
        ("vertex-anthropic", {"ANTHROPIC_VERTEX_PROJECT_ID": "mine"}, f"https://aiplatform.{VERTEX}/global/publishers/anthropic"),
        ("vertex-anthropic", {"GOOGLE_CLOUD_PROJECT": "mine", "CLOUD_ML_REGION": "us-east5"}, f"https://us-east5-aiplatform.{VERTEX}/us-east5/publishers/anthropic"),
        ("vertex-anthropic", {"GOOGLE_CLOUD_PROJECT": "mine", "CLOUD_ML_REGION": "eu"}, f"https://aiplatform.eu.rep.{VERTEX}/eu/publishers/anthropic"),
        ("vertex-anthropic", {"GOOGLE_CLOUD_PROJECT": "p", "ANTHROPIC_VERTEX_BASE_URL": "http://localhost:9/v1"}, "http://localhost:9/v1/projects/p/locations/global/publishers/anthropic"),
        ("vertex", {"GOOGLE_CLOUD_PROJECT": "p"}, "https://aiplatform.googleapis.com/v1beta1/projects/p/locations/global/publishers/google"),
        ("vertex", {"GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_VERTEX_BASE_URL": "http://localhost:9/vertex"}, "http://localhost:9/vertex/v1beta1/projects/p/locations/global/publishers/google"),
    ],
)  # fmt: skip
def test_blanks_are_filled_from_the_variables_of_the_providers_own_sdk(
    monkeypatch, name, variables, url
):
    for variable, value in variables.items():
        monkeypatch.setenv(variable, value)
    assert resolve_url(provider(name), {}, needed=True) == url


def test_a_given_address_wins_and_keeps_its_query(monkeypatch):
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://other.openai.azure.com")
    older = "https://me.openai.azure.com/openai/deployments/d?api-version=2024-10-21"
    assert resolve_url(provider("azure-chat"), {"azure-chat": older}, needed=True) == older


@pytest.mark.parametrize("location", ["europe-west4", "us-central1"])
def test_a_model_that_is_a_whole_path_needs_no_variables_and_keeps_its_region(
    monkeypatch, location
):
    vertex = load_catalog().provider("vertex")
    model = f"projects/p-1/locations/{location}/publishers/google/models/gemini-2.5-pro"
    monkeypatch.setenv("GOOGLE_CLOUD_LOCATION", "asia-east1")  # of another project
    url = resolve_url(vertex, {}, needed=True, model=model)
    assert url.startswith(f"https://{location}-aiplatform.googleapis.com/")
    assert f"/projects/p-1/locations/{location}/" in url
    with pytest.raises(MissingKey, match="GOOGLE_CLOUD_PROJECT"):
        resolve_url(vertex, {}, needed=True, model="gemini-2.5-pro")


@pytest.mark.parametrize("name", ["projects/p@evil/locations/x", "projects//locations/a b"])
def test_a_path_that_is_none_fills_in_nothing(name):
    vertex = load_catalog().provider("vertex")
    with pytest.raises(MissingKey):
        resolve_url(vertex, {}, needed=True, model=name)
