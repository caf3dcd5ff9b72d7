"""A plain client of each batch service, written from the services' documentation alone.

It hands in requests, looks, and reads results as (name, what became of it, the answer's body).
"""

import json
from typing import Any, ClassVar, NamedTuple

from pondero.canon import HttpRequest
from pondero.emulator import Emulator

Asked = dict[str, dict[str, Any]]
"""Bodies by the names of their requests."""


class Result(NamedTuple):
    id: str
    end: str
    body: Any


class Service:
    """One batch service over a transport; subclasses say where things are and what they say."""

    base: str
    model: str
    done = "completed"
    going: tuple[str, ...] = ("validating", "in_progress")
    bad: ClassVar[dict[str, Any]] = {"temperature": "hot"}  # refused when the request is read

    def __init__(self, emulator: Emulator, *, key: str = "sk-one") -> None:
        self.emulator = emulator
        self.headers = {"authorization": f"Bearer {key}"}

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body)
        data = data.encode() if isinstance(data, str) else data
        kind = {"content-type": "application/json"} if data else {}
        request = HttpRequest(method, self.base + path, {**self.headers, **kind, **headers}, data)
        answer = self.emulator.send(request)
        said = b"".join(answer)
        try:
            return answer.head.status, json.loads(said)
        except ValueError:
            return answer.head.status, said

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        status, said = self.send(method, path, body, **headers)
        assert status < 300, said
        return said

    # -- what differs ----------------------------------------------------------------------------

    def question(self, text: str, **more: Any) -> dict[str, Any]:
        return {"model": self.model, "messages": [{"role": "user", "content": text}], **more}

    def create(self, asked: Asked) -> str:
        raise NotImplementedError

    def submit(self, asked: Asked) -> tuple[int, Any]:
        raise NotImplementedError

    def look(self, id: str) -> Any:
        return self.ask("GET", f"/batches/{id}")

    def state(self, told: Any) -> str:
        return str(told["status"])

    def cancel(self, id: str) -> Any:
        return self.ask("POST", f"/batches/{id}/cancel")

    def listed(self) -> list[str]:
        return [each["id"] for each in self.ask("GET", "/batches")["data"]]

    def results(self, id: str) -> list[Result]:
        raise NotImplementedError

    # -- the same everywhere ---------------------------------------------------------------------

    def finished(self, id: str, most: int = 10) -> Any:
        states = []
        for _ in range(most):
            told = self.look(id)
            states.append(self.state(told))
            if states[-1] not in self.going:
                return told
        raise AssertionError(states)


class Messages(Service):
    base, model = "https://api.anthropic.com/v1", "claude-opus-5"
    done, going = "ended", ("in_progress", "canceling")

    def __init__(self, emulator: Emulator, *, key: str = "sk-one") -> None:
        super().__init__(emulator)
        self.headers = {"x-api-key": key, "anthropic-version": "2023-06-01"}

    def question(self, text: str, **more: Any) -> dict[str, Any]:
        return {"max_tokens": 2000, **super().question(text, **more)}

    def submit(self, asked: Asked) -> tuple[int, Any]:
        requests = [{"custom_id": id, "params": body} for id, body in asked.items()]
        return self.send("POST", "/messages/batches", {"requests": requests})

    def create(self, asked: Asked) -> str:
        status, said = self.submit(asked)
        assert status == 200, said
        return str(said["id"])

    def look(self, id: str) -> Any:
        return self.ask("GET", f"/messages/batches/{id}")

    def state(self, told: Any) -> str:
        return str(told["processing_status"])

    def cancel(self, id: str) -> Any:
        return self.ask("POST", f"/messages/batches/{id}/cancel")

    def listed(self) -> list[str]:
        return [each["id"] for each in self.ask("GET", "/messages/batches")["data"]]

    def results(self, id: str) -> list[Result]:
        text = self.ask("GET", f"/messages/batches/{id}/results")
        rows = [json.loads(x) for x in text.splitlines()] if isinstance(text, bytes) else [text]
        words = {"canceled": "cancelled"}
        found = ((row["custom_id"], row["result"]) for row in rows)
        return [
            Result(id, words.get(r["type"], r["type"]), r.get("message") or r.get("error"))
            for id, r in found
        ]


def lines_of(said: Any) -> list[Any]:
    return [json.loads(x) for x in said.splitlines()] if isinstance(said, bytes) else [said]


def result_of(row: Any) -> Result:
    error, response = row["error"], row["response"]
    if response is not None:
        good = response["status_code"] < 400
        return Result(row["custom_id"], "succeeded" if good else "errored", response["body"])
    ends = {"batch_expired": "expired", "batch_cancelled": "cancelled"}
    return Result(row["custom_id"], ends.get(error["code"], "errored"), error)


class Files(Service):
    base, model = "https://api.openai.com/v1", "gpt-5"
    going = ("validating", "in_progress", "finalizing", "cancelling")
    endpoint = "/v1/chat/completions"
    window = "24h"

    def upload(self, data: bytes, purpose: str = "batch") -> str:
        edge = "edge"
        body = (
            (
                f'--{edge}\r\ncontent-disposition: form-data; name="purpose"\r\n\r\n{purpose}\r\n'
                f'--{edge}\r\ncontent-disposition: form-data; name="file"; filename="in.jsonl"\r\n'
                "content-type: application/jsonl\r\n\r\n"
            ).encode()
            + data
            + f"\r\n--{edge}--\r\n".encode()
        )
        kind = f"multipart/form-data; boundary={edge}"
        return str(self.ask("POST", "/files", body, **{"content-type": kind})["id"])

    def lines(self, asked: Asked) -> bytes:
        rows = [
            {"custom_id": id, "method": "POST", "url": self.endpoint, "body": body}
            for id, body in asked.items()
        ]
        return "\n".join(map(json.dumps, rows)).encode()

    def submit_file(self, file: str, **more: Any) -> tuple[int, Any]:
        body = {"input_file_id": file, "endpoint": self.endpoint, "completion_window": self.window}
        return self.send("POST", "/batches", {**body, **more})

    def submit(self, asked: Asked) -> tuple[int, Any]:
        return self.submit_file(self.upload(self.lines(asked)))

    def create(self, asked: Asked) -> str:
        status, said = self.submit(asked)
        assert status == 200, said
        return str(said["id"])

    def results(self, id: str) -> list[Result]:
        told = self.look(id)
        files = [told[key] for key in ("output_file_id", "error_file_id") if told[key]]
        return [
            result_of(row)
            for file in files
            for row in lines_of(self.ask("GET", f"/files/{file}/content"))
        ]


class Responses(Files):
    endpoint, model = "/v1/responses", "gpt-6-sol"

    def question(self, text: str, **more: Any) -> dict[str, Any]:
        return {"model": self.model, "input": text, **more}


class Groq(Files):
    base, model, window = "https://api.groq.com/openai/v1", "openai/gpt-oss-120b", "7d"


class Operations(Service):
    base, model = "https://generativelanguage.googleapis.com/v1beta", "gemini-3-flash-preview"
    done = "BATCH_STATE_SUCCEEDED"
    going = ("BATCH_STATE_PENDING", "BATCH_STATE_RUNNING")
    bad: ClassVar[dict[str, Any]] = {"generationConfig": {"temperature": "hot"}}

    def __init__(self, emulator: Emulator, *, key: str = "sk-one") -> None:
        super().__init__(emulator)
        self.headers = {"x-goog-api-key": key}

    def question(self, text: str, **more: Any) -> dict[str, Any]:
        return {"contents": [{"role": "user", "parts": [{"text": text}]}], **more}

    def submit(self, asked: Asked) -> tuple[int, Any]:
        rows = [{"request": body, "metadata": {"key": id}} for id, body in asked.items()]
        batch = {"display_name": "test", "input_config": {"requests": {"requests": rows}}}
        return self.send("POST", f"/models/{self.model}:batchGenerateContent", {"batch": batch})

    def create(self, asked: Asked) -> str:
        status, said = self.submit(asked)
        assert status == 200, said
        return str(said["name"]).removeprefix("batches/")

    def state(self, told: Any) -> str:
        return str(told["metadata"]["state"])

    def cancel(self, id: str) -> Any:
        return self.ask("POST", f"/batches/{id}:cancel")

    def listed(self) -> list[str]:
        rows = self.ask("GET", "/batches")["operations"]
        return [each["name"].removeprefix("batches/") for each in rows]

    def results(self, id: str) -> list[Result]:
        response = self.look(id).get("response", {})
        rows = response.get("inlinedResponses", {}).get("inlinedResponses", [])
        ends = {4: "expired", 1: "cancelled"}
        return [
            Result(row["metadata"]["key"], "succeeded", row["response"])
            if "response" in row
            else Result(
                row["metadata"]["key"], ends.get(row["error"]["code"], "errored"), row["error"]
            )
            for row in rows
        ]


class Jobs(Service):
    base, model = "https://api.mistral.ai/v1", "mistral-small-latest"
    done, going = "SUCCESS", ("QUEUED", "RUNNING", "CANCELLATION_REQUESTED")

    def submit(self, asked: Asked) -> tuple[int, Any]:
        rows = [{"custom_id": id, "body": body} for id, body in asked.items()]
        body = {"endpoint": "/v1/chat/completions", "model": self.model, "requests": rows}
        return self.send("POST", "/batch/jobs", body)

    def create(self, asked: Asked) -> str:
        status, said = self.submit(asked)
        assert status == 200, said
        return str(said["id"])

    def look(self, id: str) -> Any:
        return self.ask("GET", f"/batch/jobs/{id}?inline=true")

    def cancel(self, id: str) -> Any:
        return self.ask("POST", f"/batch/jobs/{id}/cancel")

    def listed(self) -> list[str]:
        return [each["id"] for each in self.ask("GET", "/batch/jobs")["data"]]

    def results(self, id: str) -> list[Result]:
        return [result_of(row) for row in self.look(id)["outputs"] or ()]


class Requests(Service):
    base, model = "https://api.x.ai/v1", "grok-4.3"
    done, going = "done", ("pending",)

    def submit(self, asked: Asked) -> tuple[int, Any]:
        id = self.ask("POST", "/batches", {"name": "test"})["batch_id"]
        rows = [
            {"batch_request_id": name, "batch_request": {"chat_get_completion": body}}
            for name, body in asked.items()
        ]
        status, said = self.send("POST", f"/batches/{id}/requests", {"batch_requests": rows})
        return status, {"batch_id": id} if status == 200 else said

    def create(self, asked: Asked) -> str:
        status, said = self.submit(asked)
        assert status == 200, said
        return str(said["batch_id"])

    def state(self, told: Any) -> str:
        """There is no state: counts tell, and a message, and whether the time is over."""
        state = told["state"]
        if told["cancel_by_xai_message"]:
            return "failed"
        if state["num_cancelled"]:
            return "cancelled"
        if state["num_pending"] and told["expire_time"] <= told["create_time"]:
            return "expired"
        return "pending" if state["num_pending"] or not state["num_requests"] else "done"

    def cancel(self, id: str) -> Any:
        return self.ask("POST", f"/batches/{id}:cancel")

    def listed(self) -> list[str]:
        return [each["batch_id"] for each in self.ask("GET", "/batches")["batches"]]

    def results(self, id: str) -> list[Result]:
        found: list[Result] = []
        token = ""
        while True:
            page = self.ask("GET", f"/batches/{id}/results?limit=2{token}")
            for row in page["results"]:
                result = row["batch_result"]
                if "response" in result:
                    body = result["response"]["chat_get_completion"]
                    found.append(Result(row["batch_request_id"], "succeeded", body))
                else:
                    error = result["error"]
                    end = "cancelled" if error["code"] == 1 else "errored"
                    found.append(Result(row["batch_request_id"], end, error))
            if page["pagination_token"] is None:
                return found
            token = f"&pagination_token={page['pagination_token']}"


class Inline(Service):
    base, model = "https://openrouter.ai/api/v1", "anthropic/claude-opus-4.6"
    going = ("validating", "in_progress", "cancelling")

    def submit(self, asked: Asked) -> tuple[int, Any]:
        rows = [{"custom_id": id, "body": body} for id, body in asked.items()]
        body = {"endpoint": "/v1/chat/completions", "model": self.model, "requests": rows}
        return self.send("POST", "/batches", body)

    def create(self, asked: Asked) -> str:
        status, said = self.submit(asked)
        assert status == 202, said
        assert said["status"] == "validating"
        return str(said["id"])

    def results(self, id: str) -> list[Result]:
        return [result_of(row) for row in self.look(id)["results"] or ()]


SERVICES: tuple[type[Service], ...] = (
    Messages,
    Files,
    Responses,
    Groq,
    Operations,
    Jobs,
    Requests,
    Inline,
)
