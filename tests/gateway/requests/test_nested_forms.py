"""Fields of forms that stand for an object's: whose things they name, and which model."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from tests.gateway.endpoint_gateway import ROUTES, both, secret, serving
from tests.gateway.endpoint_service import Served, until

VIDEO = {"id": "video_1", "object": "video", "status": "queued", "model": "sora-2", "progress": 0}


@pytest.fixture(scope="module")
def gateway() -> Iterator[Any]:
    with both() as found, httpx.Client(base_url=found.url, timeout=60) as http:
        found.http = http
        yield found


@pytest.fixture(autouse=True)
def _fresh(gateway) -> None:
    gateway.service.reset()
    answer_with(gateway, {"id": "file-ofplain", "object": "file"})
    more: Any = {"data": {"purpose": "user_data"}, "files": {"file": ("a", b"abc")}}
    assert post(gateway, "/v1/files", "plain", **more).status_code == 200
    gateway.service.asked.clear()
    answer_with(gateway, VIDEO)


def answer_with(gateway: Any, body: Any) -> None:
    data = json.dumps(body).encode()
    gateway.service.answer = lambda _: Served(200, "application/json", data)


def post(gateway: Any, path: str, key: str, url: str = "", **more: Any) -> httpx.Response:
    headers = {"authorization": f"Bearer {secret(key)}"}
    return gateway.http.post(f"{url}{path}", headers=headers, **more)


def form(*fields: tuple[str, str], file: bool = False) -> Any:
    parts: list[Any] = [(name, (None, value)) for name, value in fields]
    return {"files": [*parts, *([("image", ("a.png", b"x" * 99))] if file else [])]}


FORMS = [
    ("/v1/videos", "input_reference[file_id]"),
    ("/v1/videos", "input_reference.file_id"),
    ("/v1/videos", "x[file_ids][]"),
    ("/v1/videos", "file_ids[0]"),
    ("/v1/images/edits", "images[0][file_id]"),
    ("/v1/images/edits", "image[file_id]"),
    ("/v1/images/edits", "mask[file_id]"),
    ("/v1/containers", "x[file_ids][]"),
]


@pytest.mark.parametrize(("path", "name"), FORMS)
@pytest.mark.parametrize("file", [False, True], ids=["fields", "a file"])
def test_a_field_of_an_object_names_only_things_of_its_key(gateway, path, name, file):
    sent = form(("model", "gpt-image-1"), ("prompt", "p"), (name, "file-ofplain"), file=file)
    assert post(gateway, path, "second", **sent).status_code == 404
    assert gateway.service.asked == []
    answer = post(gateway, path, "plain", **sent)
    assert answer.status_code == 200, answer.text
    assert b"file-ofplain" in gateway.service.asked[0].body


@pytest.mark.parametrize("name", ["input_reference[File_Id]", "input_reference[file\\_id]"])
def test_a_field_of_an_object_in_another_spelling_is_rejected(gateway, name):
    boundary = "b" * 20
    part = f'--{boundary}\r\ncontent-disposition: form-data; name="{name}"\r\n\r\nx\r\n'
    kind = {"content-type": f"multipart/form-data; boundary={boundary}"}
    headers = {"authorization": f"Bearer {secret('plain')}", **kind}
    answer = gateway.http.post(
        "/v1/videos", headers=headers, content=f"{part}--{boundary}--\r\n".encode()
    )
    assert answer.status_code == 400
    assert gateway.service.asked == []


@pytest.mark.parametrize("as_form", [False, True], ids=["json", "form"])
def test_a_film_is_made_by_a_model_of_the_key(gateway, as_form):
    def ask(model: str | None, key: str, url: str = "") -> int:
        fields = {"prompt": "x", **({} if model is None else {"model": model})}
        sent: Any = form(*fields.items()) if as_form else {"json": fields}
        return post(gateway, "/v1/videos", key, url, **sent).status_code

    assert ask("sora-2", "models") == 403
    assert ask(None, "models") == 400  # the service's default may be another
    with serving(gateway.service, routes=ROUTES) as routed:
        assert ask("sora-2", "plain", routed.url) in (400, 404)
    assert gateway.service.asked == []
    assert ask("sora-2", "plain") == 200
    assert ask(None, "plain") == 200
    until(lambda: len(gateway.service.asked) == 2)
