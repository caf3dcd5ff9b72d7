"""The vendors' SDKs hand in batches at the emulator's server and read them back."""

import json

import anthropic
import groq
import httpx2
import mistralai.client as mistralai
import openai
import pytest
from google import genai

from pondero.emulator import Emulator, Fault, run_emulator_in_thread

pytestmark = pytest.mark.judge


@pytest.fixture
def emulator():
    return Emulator()


@pytest.fixture
def url(emulator):
    with run_emulator_in_thread(emulator) as where:
        yield where


def lines(endpoint, bodies):
    rows = [
        {"custom_id": id, "method": "POST", "url": endpoint, "body": body}
        for id, body in bodies.items()
    ]
    return "\n".join(map(json.dumps, rows)).encode()


def test_anthropic(url):
    def params(text, **more):
        asked = [{"role": "user", "content": text}]
        return {"model": "claude-opus-5", "max_tokens": 2000, "messages": asked, **more}

    thinking = {"thinking": {"type": "adaptive", "display": "summarized"}}
    requests = [
        {"custom_id": "sum", "params": params("What is 17 * 23?", **thinking)},
        {"custom_id": "late", "params": params("hi [emulator: fault expired]")},
        {"custom_id": "gone", "params": params("hi [emulator: fault cancelled]")},
        {"custom_id": "bad", "params": params("hi", temperature=7)},
    ]
    with anthropic.Anthropic(api_key="k", base_url=url, max_retries=0) as client:
        batches = client.messages.batches
        made = batches.create(requests=requests)
        assert (made.type, made.processing_status) == ("message_batch", "in_progress")
        assert made.request_counts.processing == 4
        with pytest.raises(anthropic.AnthropicError, match="results_url"):
            batches.results(made.id)
        results = {row.custom_id: row.result for row in batches.results(made.id)}
        told = batches.retrieve(made.id)
        assert told.processing_status == "ended"
        assert told.request_counts.model_dump() == {
            **dict.fromkeys(("succeeded", "errored", "expired", "canceled"), 1),
            "processing": 0,
        }
        assert {id: result.type for id, result in results.items()} == {
            "sum": "succeeded",
            "late": "expired",
            "gone": "canceled",
            "bad": "errored",
        }
        message = results["sum"].message
        assert [block.type for block in message.content] == ["thinking", "text"]
        assert message.content[0].signature
        assert message.content[1].text == "17 * 23 = 391"
        assert message.usage.output_tokens_details.thinking_tokens > 0
        assert results["bad"].error.error.type == "invalid_request_error"
        another = batches.create(requests=requests)
        assert batches.cancel(another.id).processing_status == "canceling"
        assert [each.id for each in batches.list(limit=1)] == [another.id, made.id]
        with pytest.raises(anthropic.BadRequestError):
            batches.delete(another.id)
        assert batches.delete(made.id).type == "message_batch_deleted"
        with pytest.raises(anthropic.NotFoundError):
            batches.retrieve(made.id)
        again = [requests[0], requests[0]]
        with pytest.raises(anthropic.BadRequestError, match="custom_id"):
            batches.create(requests=again)


BODIES = {
    "/v1/responses": lambda text: {
        "model": "gpt-6-sol",
        "input": text,
        "reasoning": {"effort": "low"},
    },
    "/v1/chat/completions": lambda text: {
        "model": "gpt-5",
        "messages": [{"role": "user", "content": text}],
        "reasoning_effort": "low",
    },
}


@pytest.mark.parametrize("endpoint", BODIES)
def test_openai(url, endpoint):
    bodies = {id: BODIES[endpoint]("What is 17 * 23?") for id in ("a", "b", "bad")}
    bodies["bad"]["no_such_field"] = 1
    with openai.OpenAI(api_key="k", base_url=f"{url}/v1", max_retries=0) as client:
        data = ("in.jsonl", lines(endpoint, bodies))
        file = client.files.create(file=data, purpose="batch")
        assert (file.purpose, file.bytes) == ("batch", len(data[1]))
        assert client.files.content(file.id).content == data[1]
        made = client.batches.create(
            input_file_id=file.id,
            endpoint=endpoint,
            completion_window="24h",
            metadata={"name": "ours"},
        )
        assert (made.status, made.endpoint) == ("validating", endpoint)
        assert client.batches.retrieve(made.id).status == "in_progress"
        told = client.batches.retrieve(made.id)
        assert (told.status, told.metadata) == ("completed", {"name": "ours"})
        counts = told.request_counts
        assert (counts.total, counts.completed, counts.failed) == (3, 2, 1)
        good = [json.loads(row) for row in client.files.content(told.output_file_id).iter_lines()]
        assert sorted(row["custom_id"] for row in good) == ["a", "b"]
        for row in good:
            assert (row["response"]["status_code"], row["error"]) == (200, None)
            assert "391" in str(row["response"]["body"])
            usage = row["response"]["body"]["usage"]
            details = usage.get("output_tokens_details") or usage["completion_tokens_details"]
            assert details["reasoning_tokens"] > 0
        bad = json.loads(client.files.content(told.error_file_id).text)
        assert (bad["custom_id"], bad["error"]) == ("bad", None)
        assert bad["response"]["status_code"] == 400
        assert [each.id for each in client.batches.list(limit=1)] == [made.id]
        with pytest.raises(openai.BadRequestError):
            client.batches.cancel(made.id)
        another = client.batches.create(
            input_file_id=file.id, endpoint=endpoint, completion_window="24h"
        )
        assert client.batches.cancel(another.id).status == "cancelling"
        assert client.batches.retrieve(another.id).status == "cancelled"
        assert client.files.delete(file.id).deleted
        with pytest.raises(openai.NotFoundError):
            client.files.retrieve(file.id)


def test_openai_sees_why_a_batch_failed(url):
    with openai.OpenAI(api_key="k", base_url=f"{url}/v1", max_retries=0) as client:
        file = client.files.create(file=("in.jsonl", b"{}\nnot json"), purpose="batch")
        made = client.batches.create(
            input_file_id=file.id, endpoint="/v1/responses", completion_window="24h"
        )
        told = client.batches.retrieve(made.id)
        assert told.status == "failed"
        assert [each.line for each in told.errors.data] == [1, 2]
        with pytest.raises(openai.BadRequestError):
            client.files.create(file=("in.jsonl", b"{}"), purpose="fine-tune")


def test_groq(url):
    body = {
        "model": "openai/gpt-oss-120b",
        "messages": [{"role": "user", "content": "What is 17 * 23?"}],
        "reasoning_effort": "low",
    }
    endpoint = "/v1/chat/completions"
    with groq.Groq(api_key="k", base_url=f"{url}/groq", max_retries=0) as client:
        data = lines(endpoint, {"a": body, "b": body})
        file = client.files.create(file=("in.jsonl", data), purpose="batch")
        made = client.batches.create(
            input_file_id=file.id, endpoint=endpoint, completion_window="7d"
        )
        states = [client.batches.retrieve(made.id).status for _ in range(2)]
        assert states == ["in_progress", "completed"]
        told = client.batches.retrieve(made.id)
        rows = [
            json.loads(x) for x in client.files.content(told.output_file_id).read().splitlines()
        ]
        assert sorted(row["custom_id"] for row in rows) == ["a", "b"]
        assert rows[0]["response"]["body"]["choices"][0]["message"]["reasoning"]
        assert [each.id for each in client.batches.list().data] == [made.id]
        assert client.files.info(file.id).filename == "in.jsonl"
        assert len(client.files.list().data) == 2
        assert client.files.delete(file.id).deleted


def request_of(text, key=None, **config):
    contents = [{"role": "user", "parts": [{"text": text}]}]
    named = {} if key is None else {"metadata": {"key": key}}
    return {"contents": contents, "config": config, **named}


def test_gemini_inline(url):
    client = genai.Client(api_key="k", http_options={"base_url": url})
    thinking = {"thinking_config": {"thinking_level": "low", "include_thoughts": True}}
    source = [
        request_of("What is 17 * 23?", "good", system_instruction="Be short.", **thinking),
        request_of("hi", "bad", temperature=7),
    ]
    made = client.batches.create(
        model="gemini-3-flash-preview", src=source, config={"display_name": "ours"}
    )
    assert (made.state.name, made.display_name) == ("JOB_STATE_PENDING", "ours")
    assert client.batches.get(name=made.name).state.name == "JOB_STATE_RUNNING"
    told = client.batches.get(name=made.name)
    assert told.state.name == "JOB_STATE_SUCCEEDED"
    rows = {row.metadata["key"]: row for row in told.dest.inlined_responses}
    assert rows["good"].response.text == "17 * 23 = 391"
    assert rows["good"].response.usage_metadata.thoughts_token_count > 0
    assert rows["bad"].error.code == 3
    assert [each.name for each in client.batches.list()] == [made.name]
    another = client.batches.create(model="gemini-3-flash-preview", src=source)
    client.batches.cancel(name=another.name)
    assert client.batches.get(name=another.name).state.name == "JOB_STATE_CANCELLED"
    client.batches.delete(name=another.name)
    with pytest.raises(genai.errors.ClientError, match="404"):
        client.batches.get(name=another.name)


def test_gemini_with_files(url, tmp_path):
    client = genai.Client(api_key="k", http_options={"base_url": url})
    contents = [{"role": "user", "parts": [{"text": "What is 17 * 23?"}]}]
    path = tmp_path / "in.jsonl"
    rows = [{"key": key, "request": {"contents": contents}} for key in ("a", "b")]
    path.write_text("\n".join(map(json.dumps, rows)))
    file = client.files.upload(
        file=str(path), config={"display_name": "in", "mime_type": "application/jsonl"}
    )
    assert file.size_bytes == path.stat().st_size
    made = client.batches.create(model="gemini-3-flash-preview", src=file.name)
    client.batches.get(name=made.name)
    told = client.batches.get(name=made.name)
    data = client.files.download(file=told.dest.file_name)
    found = [json.loads(row) for row in data.splitlines()]
    assert sorted(row["key"] for row in found) == ["a", "b"]
    assert all("391" in str(row["response"]) for row in found)
    client.files.delete(name=file.name)
    with pytest.raises(genai.errors.ClientError, match="404"):
        client.files.get(name=file.name)


def test_mistral(url):
    body = {"messages": [{"role": "user", "content": "What is 17 * 23?"}]}
    endpoint, model = "/v1/chat/completions", "mistral-small-latest"
    with mistralai.Mistral(api_key="k", server_url=f"{url}/mistral") as client:
        jobs = client.batch.jobs
        bad = {**body, "temperature": "hot"}
        asked = [{"custom_id": "a", "body": body}, {"custom_id": "bad", "body": bad}]
        made = jobs.create(endpoint=endpoint, model=model, requests=asked, metadata={"n": "1"})
        assert (made.status, made.total_requests) == ("QUEUED", 2)
        assert jobs.get(job_id=made.id).status == "RUNNING"
        told = jobs.get(job_id=made.id, inline=True)
        assert (told.status, told.succeeded_requests, told.failed_requests) == ("SUCCESS", 1, 1)
        outputs = {row["custom_id"]: row["response"] for row in told.outputs}
        assert "391" in str(outputs["a"]["body"])
        assert outputs["bad"]["status_code"] in (400, 422)
        data = lines(endpoint, {"x": body})
        file = client.files.upload(file={"file_name": "in.jsonl", "content": data}, purpose="batch")
        another = jobs.create(endpoint=endpoint, model=model, input_files=[file.id])
        jobs.get(job_id=another.id)
        told = jobs.get(job_id=another.id)
        row = json.loads(client.files.download(file_id=told.output_file).read())
        assert (row["custom_id"], row["response"]["status_code"]) == ("x", 200)
        assert jobs.list().total == 2
        third = jobs.create(endpoint=endpoint, model=model, requests=asked)
        assert jobs.cancel(job_id=third.id).status == "CANCELLATION_REQUESTED"
        assert jobs.get(job_id=third.id).status == "CANCELLED"
        assert client.files.delete(file_id=file.id).deleted


def test_a_create_whose_answer_was_lost_is_found_in_the_list(emulator, url):
    asked = [{"role": "user", "content": "hi"}]
    params = {"model": "claude-opus-5", "max_tokens": 2000, "messages": asked}
    with anthropic.Anthropic(api_key="k", base_url=url, max_retries=0) as client:
        for word, error in (
            ("lost", anthropic.APIConnectionError),
            ("lost 500", anthropic.InternalServerError),
        ):
            emulator.faults.append(Fault.parse(word))
            with pytest.raises(error):
                client.messages.batches.create(requests=[{"custom_id": "a", "params": params}])
        assert len(client.messages.batches.list().data) == 2


def test_a_batch_larger_than_most_requests_is_read(url):
    with openai.OpenAI(api_key="k", base_url=f"{url}/v1", max_retries=0) as client:
        data = b" " * (70 * 1024 * 1024)
        assert client.files.create(file=("in.jsonl", data), purpose="batch").bytes == len(data)


def test_a_turn_over_http_has_a_fault_for_a_batch(url):
    turn = {"fault": {"kind": "expired"}, "when": {"service": "anthropic"}}
    httpx2.post(f"{url}/_emulator/expect", json=turn).raise_for_status()
    asked = [{"role": "user", "content": "hi"}]
    params = {"model": "claude-opus-5", "max_tokens": 2000, "messages": asked}
    with anthropic.Anthropic(api_key="k", base_url=url, max_retries=0) as client:
        made = client.messages.batches.create(requests=[{"custom_id": "a", "params": params}])
        client.messages.batches.retrieve(made.id)
        (row,) = client.messages.batches.results(made.id)
        assert row.result.type == "expired"
