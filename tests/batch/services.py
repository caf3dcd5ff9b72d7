"""Batch services for tests: six shapes in memory, written from the vendors' SDK types.

What an ask is answered with is the emulator's answer to the same body sent live. How a batch ends,
and what becomes of the request that makes it, is up to the test.
"""

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from pondero.canon import HttpRequest, ResponseHead
from pondero.emulator import Emulator
from pondero.errors import Timeout, Unreachable

DAY = "2026-11-16T00:00:00Z"

MODELS = {
    "anthropic": "claude-opus-5",
    "openai": "gpt-5.5",
    "groq": "groq:openai/gpt-oss-120b",
    "google": "gemini-3-flash-preview",
    "mistral": "mistral:mistral-small-latest",
    "xai": "xai:grok-4.3",
    "openrouter": "openrouter:openai/gpt-5.5",
}


class Answer:
    def __init__(self, status, body):
        self.head = ResponseHead(status, {"content-type": "application/json"})
        self.body = body if isinstance(body, bytes) else json.dumps(body).encode()

    def __iter__(self):
        yield self.body

    async def __aiter__(self):
        yield self.body

    def __await__(self):
        return self
        yield

    def close(self):
        pass

    async def aclose(self):
        pass


class Made:
    """A batch at the service."""

    def __init__(self, id, asks, **said):
        self.id, self.asks, self.said = id, asks, said
        self.looks = 0
        self.cancelled = False


class Service:
    """One provider's batch service.

    ``on_create`` are words for the next creates: lost, lost 500, hang (made, and no answer), cut,
    no network, 500 (not made), 429, 400, garbled. ``ends`` is what becomes of an ask by its number: a function
    that returns answered, errored, expired, cancelled or absent. ``state`` is how a batch ends.
    """

    needs_key = False
    routes: tuple[Any, ...] = ()

    def __init__(self, *, on_create=(), ends=None, state="completed", after=1, backwards=True):
        self.on_create = list(on_create)
        self.ends = ends or (lambda _number: "answered")
        self.state, self.after, self.backwards = state, after, backwards
        self.made, self.files, self.requests = {}, {}, []
        self.emulator = Emulator(any_model=True)
        self.on_add = []
        self.page = 2
        self.unlisted = 0

    # -- a transport

    def send(self, request, timeouts=None):
        self.requests.append(request)
        url = urlsplit(request.url)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        for method, pattern, handle in self.routes:
            found = re.fullmatch(pattern, url.path)
            if found and method == request.method:
                return handle(self, request, query, *found.groups())
        return Answer(404, {"error": {"message": f"nothing at {url.path}", "type": "not_found"}})

    def close(self):
        pass

    async def aclose(self):
        pass

    @property
    def creates(self):
        return [r for r in self.requests if r.method == "POST" and self.is_create(r)]

    def is_create(self, request):
        return re.fullmatch(self.create_path, urlsplit(request.url).path) is not None

    def keep(self, path):
        """Write down what the service has, for a process that lives on after another."""
        made = [(each.id, each.asks, each.said) for each in self.made.values()]
        files = {name: body.decode() for name, body in self.files.items()}
        new = Path(f"{path}.new")
        new.write_text(json.dumps([made, files]))
        new.replace(path)

    def revive(self, path):
        if Path(path).exists():
            made, files = json.loads(Path(path).read_text())
            self.made = {id: Made(id, asks, **said) for id, asks, said in made}
            self.files = {name: body.encode() for name, body in files.items()}

    # -- what all of them do

    def create(self, asks, **said):
        """Make a batch, as far as the next word lets it."""
        word = self.on_create.pop(0) if self.on_create else ""
        if word == "cut":
            raise Unreachable("the connection was cut")
        if word == "no network":
            raise Unreachable("no route to host", connected=False)
        if word in ("500", "429", "400"):
            return Answer(int(word), {"error": {"message": f"no: {word}", "type": "x"}})
        made = Made(self.new_id(), asks, **said)
        self.made[made.id] = made
        if word == "lost":
            raise Unreachable("the connection was cut")
        if word == "hang":
            raise Timeout("nothing came")
        if word == "garbled":
            return Answer(200, b'{"id":')
        return Answer(500 if word else 200, self.shown(made))

    def new_id(self):
        return f"batch_{len(self.made) + 1}"

    def look(self, _request, _query, id):
        made = self.made.get(id)
        if made is None:
            return Answer(404, {"error": {"message": "no such batch", "type": "not_found"}})
        made.looks += 1
        return Answer(200, self.shown(made))

    def has_ended(self, made):
        return made.cancelled or made.looks > self.after

    def cancel(self, _request, _query, id):
        self.made[id].cancelled = True
        return Answer(200, self.shown(self.made[id]))

    def listed(self):
        """The newest first, as services list; those that are not listed yet left out."""
        if self.unlisted:
            self.unlisted -= 1
            return []
        for made in self.made.values():
            made.looks += 1
        return list(reversed(self.made.values()))

    def count(self, made, *hows):
        """How many asks ended so; one that is absent from the results was answered and billed."""
        if not self.has_ended(made):
            return 0
        ends = ["cancelled" if made.cancelled else self.ends(n) for n in range(len(made.asks))]
        return sum(end in hows for end in ends)

    def outcomes(self, made):
        """Each ask with how it ended and the emulator's answer to it, in another order."""
        found = []
        for number, (id, body) in enumerate(made.asks):
            how = "cancelled" if made.cancelled else self.ends(number)
            if how != "absent":
                found.append((id, how, self.answer(body) if how == "answered" else None))
        return found[::-1] if self.backwards else found

    def answer(self, body):
        headers = {**self.requests[0].headers, "content-type": "application/json"}
        request = HttpRequest("POST", self.live, headers, json.dumps(body).encode())
        return json.loads(b"".join(self.emulator.send(request)))


class Messages(Service):
    live = "https://api.anthropic.com/v1/messages"
    create_path = "/v1/messages/batches"

    def make(self, request, _query):
        asks = [
            (each["custom_id"], each["params"]) for each in json.loads(request.body)["requests"]
        ]
        return self.create(asks)

    def shown(self, made):
        ended = self.has_ended(made)
        counts = {
            "processing": 0 if ended else len(made.asks), "errored": self.count(made, "errored"),
            "succeeded": self.count(made, "answered", "absent"),
            "canceled": self.count(made, "cancelled"), "expired": self.count(made, "expired"),
        }  # fmt: skip
        return {
            "id": made.id, "type": "message_batch", "created_at": made.said.get("at", "2099-01-01T00:00:00Z"),
            "processing_status": "ended" if ended else "in_progress", "request_counts": counts,
            "cancel_initiated_at": DAY if made.cancelled else None,
            "results_url": f"https://elsewhere/{made.id}" if ended else None,
        }  # fmt: skip

    def results(self, _request, _query, id):
        lines = []
        for custom, how, answer in self.outcomes(self.made[id]):
            error = {"type": "error", "error": {"type": "invalid_request_error", "message": "bad"}}
            result = {
                "answered": {"type": "succeeded", "message": answer},
                "errored": {"type": "errored", "error": error},
                "expired": {"type": "expired"},
                "cancelled": {"type": "canceled"},
            }[how]
            lines.append(json.dumps({"custom_id": custom, "result": result}))
        return Answer(200, "\n".join(lines).encode())

    def list_all(self, _request, query):
        every = self.listed()
        ids = [made.id for made in every]
        start = ids.index(query["after_id"]) + 1 if "after_id" in query else 0
        page = every[start : start + self.page]
        more = len(every) > start + self.page
        data = [self.shown(made) for made in page]
        return Answer(
            200, {"data": data, "has_more": more, "last_id": page[-1].id if page else None}
        )

    routes: tuple[Any, ...] = (
        ("POST", create_path, make),
        ("GET", create_path, list_all),
        ("GET", r"/v1/messages/batches/(\w+)", Service.look),
        ("GET", r"/v1/messages/batches/(\w+)/results", results),
        ("POST", r"/v1/messages/batches/(\w+)/cancel", Service.cancel),
    )


class Files(Service):
    live = "https://api.openai.com/v1/responses"
    create_path = "(?:/openai)?/v1/batches"

    def upload(self, request, _query):
        edge = request.headers["content-type"].partition("boundary=")[2].encode()
        parts = [part for part in request.body.split(b"--" + edge) if b"filename=" in part]
        assert b'name="purpose"\r\n\r\nbatch' in request.body
        body = parts[0].partition(b"\r\n\r\n")[2].removesuffix(b"\r\n")
        id = f"file-{len(self.files) + 1}"
        self.files[id] = body
        return Answer(200, {"id": id, "object": "file"})

    def make(self, request, _query):
        said = json.loads(request.body)
        assert said["completion_window"] == "24h"
        rows = [json.loads(line) for line in self.files[said["input_file_id"]].splitlines()]
        assert {row["url"] for row in rows} == {said["endpoint"]}
        assert {row["method"] for row in rows} == {"POST"}
        return self.create([(row["custom_id"], row["body"]) for row in rows], **said)

    def shown(self, made):
        ended = self.has_ended(made)
        status = ("cancelled" if made.cancelled else self.state) if ended else "in_progress"
        shown = {
            "id": made.id, "object": "batch", "status": status, "created_at": 4070908800,
            "endpoint": made.said["endpoint"], "input_file_id": made.said["input_file_id"],
            "completion_window": "24h", "metadata": made.said.get("metadata"), "errors": None,
            "request_counts": {"total": len(made.asks), "failed": self.count(made, "errored"),
                               "completed": self.completed(made, status)},
        }  # fmt: skip
        if status == "failed":
            shown["errors"] = {"data": [{"code": "x", "message": "the file is not good"}]}
        elif ended:
            self.files["out"], self.files["err"] = self._results(made)
            shown |= {"output_file_id": "out", "error_file_id": "err"}
        return shown

    def completed(self, made, status):
        """What expired or failed whole has no answers that are absent."""
        return self.count(made, "answered", *(("absent",) if status == "completed" else ()))

    def _results(self, made):
        out, err = [], []
        for id, how, answer in self.outcomes(made):
            if how == "answered":
                out.append(self.line(id, 200, answer))
            elif how == "errored":  # as the service has it: among the results, with no error
                out.append(self.line(id, 400, {"error": {"message": "bad", "code": "invalid"}}))
            else:
                error = {"code": f"batch_{how}", "message": how}
                err.append({"custom_id": id, "response": None, "error": error})
        return ["\n".join(map(json.dumps, each)).encode() for each in (out, err)]

    def line(self, id, status, body):
        return {"id": f"r-{id}", "custom_id": id, "error": None,
                "response": {"status_code": status, "request_id": "x", "body": body}}  # fmt: skip

    def content(self, _request, _query, id):
        return Answer(200, self.files[id])

    def list_all(self, _request, query):
        every = self.listed()
        ids = [made.id for made in every]
        start = ids.index(query["after"]) + 1 if "after" in query else 0
        page = every[start : start + self.page]
        more = len(every) > start + self.page
        data = [self.shown(made) for made in page]
        return Answer(
            200, {"data": data, "has_more": more, "last_id": page[-1].id if page else None}
        )

    routes: tuple[Any, ...] = (
        ("POST", "(?:/openai)?/v1/files", upload),
        ("GET", r"(?:/openai)?/v1/files/([\w-]+)/content", content),
        ("POST", create_path, make),
        ("GET", create_path, list_all),
        ("GET", r"(?:/openai)?/v1/batches/(\w+)", Service.look),
        ("POST", r"(?:/openai)?/v1/batches/(\w+)/cancel", Service.cancel),
    )


class Groq(Files):
    live = "https://api.groq.com/openai/v1/chat/completions"


class Inline(Files):
    live = "https://openrouter.ai/api/v1/chat/completions"
    create_path = "/api/v1/batches"

    def make(self, request, _query):
        said = json.loads(request.body)
        assert list(said) == ["endpoint", "model", "requests"]  # the service reads them in order
        assert said["model"].endswith(":batch")
        asks = [(each["custom_id"], {**each["body"], "model": said["model"].removesuffix(":batch")})
                for each in said["requests"]]  # fmt: skip
        return self.create(asks, endpoint=said["endpoint"], input_file_id=None)

    def shown(self, made):
        shown = super().shown(made)
        results = [json.loads(line) for name in ("output_file_id", "error_file_id")
                   if name in shown for line in self.files[shown.pop(name)].splitlines()]  # fmt: skip
        del shown["metadata"], shown["input_file_id"]
        return shown | {"results": results or None, "error": None}

    routes: tuple[Any, ...] = (
        ("POST", create_path, make),
        ("GET", create_path, Files.list_all),
        ("GET", r"/api/v1/batches/(\w+)", Service.look),
        ("POST", r"/api/v1/batches/(\w+)/cancel", Service.cancel),
    )


WORDS = {"completed": "SUCCESS", "failed": "FAILED", "expired": "TIMEOUT_EXCEEDED",
         "cancelled": "CANCELLED", "in_progress": "RUNNING"}  # fmt: skip


class Jobs(Files):
    live = "https://api.mistral.ai/v1/chat/completions"
    create_path = "/v1/batch/jobs"
    inlines = True

    def make(self, request, _query):
        said = json.loads(request.body)
        asks = [(each["custom_id"], {**each["body"], "model": said["model"]})
                for each in said["requests"]]  # fmt: skip
        assert not any("model" in each["body"] for each in said["requests"])
        return self.create(asks, endpoint=said["endpoint"], input_file_id=None,
                           metadata=said["metadata"])  # fmt: skip

    def shown(self, made):
        plain = super().shown(made)
        job = {
            "id": made.id, "object": "batch", "status": WORDS[plain["status"]],
            "metadata": plain["metadata"], "created_at": plain["created_at"], "input_files": [],
            "errors": [{"message": "the file is not good"}] if plain["errors"] else [],
            "total_requests": len(made.asks), "completed_requests": 0, "outputs": None,
            "succeeded_requests": plain["request_counts"]["completed"],
            "failed_requests": plain["request_counts"]["failed"],
        }  # fmt: skip
        if "output_file_id" in plain:
            out = [json.loads(line) for line in self.files["out"].splitlines()]
            job |= {"outputs": out} if self.inlines else {"output_file": "out"}
            job["error_file"] = "err"
        return job

    def list_all(self, _request, query):
        start = int(query["page"]) * 100
        data = [self.shown(made) for made in self.listed()[start : start + 100]]
        return Answer(200, {"data": data, "total": len(self.made), "object": "list"})

    routes: tuple[Any, ...] = (
        ("GET", r"/v1/files/([\w-]+)/content", Files.content),
        ("POST", create_path, make),
        ("GET", create_path, list_all),
        ("GET", r"/v1/batch/jobs/(\w+)", Service.look),
        ("POST", r"/v1/batch/jobs/(\w+)/cancel", Service.cancel),
    )


class Operations(Service):
    live = "https://generativelanguage.googleapis.com/v1beta/models/gemini-3-flash-preview:generateContent"
    create_path = r"/v1beta/models/[\w.-]+:batchGenerateContent"
    prefix, inlines = "JOB_STATE_", True

    def make(self, request, _query):
        batch = json.loads(request.body)["batch"]
        asks = batch["inputConfig"]["requests"]["requests"]
        return self.create([(each["metadata"]["key"], each["request"]) for each in asks],
                           name=batch["displayName"])  # fmt: skip

    def new_id(self):
        return f"batches/b{len(self.made) + 1}"

    def shown(self, made):
        ended = self.has_ended(made)
        words = {"completed": "SUCCEEDED"}
        state = "CANCELLED" if made.cancelled else words.get(self.state, self.state.upper())
        state = self.prefix + (state if ended else "RUNNING")
        shown = {"name": made.id, "metadata": {"displayName": made.said["name"], "state": state,
                 "createTime": "2099-01-01T00:00:00.123456Z"}}  # fmt: skip
        if ended and self.state == "completed":
            rows = [self.row(*each) for each in self.outcomes(made)]
            if self.inlines:
                shown["response"] = {"inlinedResponses": {"inlinedResponses": rows}}
            else:
                lines = [{"key": row.pop("metadata")["key"], **row} for row in rows]
                self.files["out"] = "\n".join(map(json.dumps, lines)).encode()
                shown["metadata"]["output"] = {"responsesFile": "files/out"}
        return shown

    def row(self, id, how, answer):
        if how == "answered":
            return {"metadata": {"key": id}, "response": answer}
        return {"metadata": {"key": id}, "error": {"code": 3, "message": "bad"}}

    def content(self, _request, query, id):
        assert query == {"alt": "media"}
        return Answer(200, self.files[id])

    def list_all(self, _request, query):
        every = self.listed()
        start = int(query.get("pageToken", 0))
        page = {"operations": [self.shown(made) for made in every[start : start + self.page]]}
        if len(every) > start + self.page:
            page["nextPageToken"] = str(start + self.page)
        return Answer(200, page)

    routes: tuple[Any, ...] = (
        ("POST", create_path, make),
        ("GET", "/v1beta/batches", list_all),
        ("GET", r"/v1beta/(batches/\w+)", Service.look),
        ("POST", r"/v1beta/(batches/\w+):cancel", Service.cancel),
        ("GET", r"/v1beta/files/(\w+):download", content),
    )


class Requests(Service):
    live = "https://api.x.ai/v1/chat/completions"
    create_path = "/v1/batches"
    count_lags = 0

    def make(self, request, _query):
        return self.create([], name=json.loads(request.body)["name"])

    @property
    def adds(self):
        return [each for each in self.requests if each.url.endswith("/requests")]

    def add(self, request, _query, id):
        word = self.on_add.pop(0) if self.on_add else ""
        if word == "cut":
            raise Unreachable("the connection was cut")
        asks = json.loads(request.body)["batch_requests"]
        self.made[id].asks += [
            (each["batch_request_id"], each["batch_request"]["chat_get_completion"])
            for each in asks
        ]
        if word == "lost":
            raise Unreachable("the connection was cut")
        return Answer(200, {})

    def shown(self, made):
        if self.count_lags and len(made.asks) > 100:  # as if it had been asked a little earlier
            self.count_lags -= 1
            made = Made(made.id, made.asks[:100], **made.said)
            made.looks = 99
        ended = bool(made.asks) and self.has_ended(made)
        state = {"num_requests": len(made.asks), "num_pending": 0 if ended else len(made.asks),
                 "num_success": self.count(made, "answered", "absent"),
                 "num_error": self.count(made, "errored"),
                 "num_cancelled": self.count(made, "cancelled")}  # fmt: skip
        return {"batch_id": made.id, "name": made.said["name"], "state": state,
                "cancel_time": DAY if made.cancelled else None}  # fmt: skip

    def results(self, _request, query, id):
        every = [
            each for each in self.outcomes(self.made[id]) if each[1] in ("answered", "errored")
        ]
        start = int(query.get("pagination_token", 0))
        rows = [self.row(*each) for each in every[start : start + self.page]]
        more = str(start + self.page) if len(every) > start + self.page else None
        return Answer(200, {"results": rows, "pagination_token": more})

    def row(self, id, how, answer):
        good = {"response": {"chat_get_completion": answer}}
        bad = {"error": {"code": 3, "message": "bad"}}
        return {"batch_request_id": id, "batch_result": good if how == "answered" else bad}

    def list_all(self, _request, query):
        every = self.listed()
        start = int(query.get("pagination_token", 0))
        more = str(start + self.page) if len(every) > start + self.page else None
        shown = [self.shown(made) for made in every[start : start + self.page]]
        return Answer(200, {"batches": shown, "pagination_token": more})

    routes: tuple[Any, ...] = (
        ("POST", create_path, make),
        ("GET", create_path, list_all),
        ("POST", r"/v1/batches/(\w+)/requests", add),
        ("GET", r"/v1/batches/(\w+)", Service.look),
        ("GET", r"/v1/batches/(\w+)/results", results),
        ("POST", r"/v1/batches/(\w+):cancel", Service.cancel),
    )


SERVICES = {
    "anthropic": Messages,
    "openai": Files,
    "groq": Groq,
    "google": Operations,
    "mistral": Jobs,
    "xai": Requests,
    "openrouter": Inline,
}
