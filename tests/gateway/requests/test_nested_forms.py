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


JSON_FIELDS = [
    ("/v1/videos", "input_reference", '{"file_id": "file-ofplain"}'),
    ("/v1/videos", "input_reference", ' \n{"file_id": "file-ofplain"}'),
    ("/v1/images/edits", "images", '[{"file_id": "file-ofplain"}]'),
    ("/v1/images/edits", "images[0]", '{"file_id": "file-ofplain"}'),
    ("/v1/images/edits", "image", '{"fil\\u0065_id": "file-ofplain"}'),
    ("/v1/containers", "expires_after", '{"file_ids": ["file-ofplain"]}'),
]


@pytest.mark.parametrize(("path", "name", "value"), JSON_FIELDS)
@pytest.mark.parametrize("kind", ["", "text/plain", "application/json"])
@pytest.mark.parametrize("file", [False, True], ids=["fields", "a file"])
def test_json_in_a_field_names_only_things_of_its_key(gateway, path, name, value, kind, file):
    part = (None, value, kind) if kind else (None, value)
    sent = form(("model", "gpt-image-1"), ("prompt", "[p]"), file=file)
    sent["files"].insert(2, (name, part))
    assert post(gateway, path, "second", **sent).status_code == 404
    assert gateway.service.asked == []
    answer = post(gateway, path, "plain", **sent)
    assert answer.status_code == 200, answer.text
    assert b"file-ofplain" in gateway.service.asked[0].body


@pytest.mark.parametrize(
    ("value", "status"),
    [
        ('{"file_id": "file-ofplain", "file_id": null}', 400),
        ('{"x": {"file_id": "file-ofplain"}, "x": {}}', 400),
        ('{"file_id": file-ofplain', 400),
        ('{"prompt": "a file_id of a cat"}', 200),
        ("[a cat]", 200),
    ],
)
def test_json_in_a_field_is_read_in_one_way(gateway, value, status):
    sent = form(("model", "sora-2"), ("prompt", "p"), ("input_reference", value))
    assert post(gateway, "/v1/videos", "second", **sent).status_code == status


def test_json_that_names_something_comes_before_the_file(gateway):
    sent = form(("model", "gpt-image-1"), ("prompt", "p"))
    sent["files"].append(("image", ("a.png", b"x" * (1 << 21))))
    sent["files"].append(("images", (None, '[{"file_id": "file-ofplain"}]')))
    for key in ("second", "plain"):
        assert post(gateway, "/v1/images/edits", key, **sent).status_code == 400


def test_a_file_of_json_is_a_field_where_pictures_are_expected_and_a_file_elsewhere(gateway):
    value = '{"file_id": "file-ofplain"}'
    sent = form(("model", "sora-2"), ("prompt", "p"))
    sent["files"].append(("input_reference", ("blob", value, "application/json")))
    assert post(gateway, "/v1/videos", "second", **sent).status_code in (400, 404)
    assert gateway.service.asked == []
    more: Any = {"data": {"purpose": "user_data"}}
    more["files"] = {"file": ("a.json", value, "application/json")}
    assert post(gateway, "/v1/files", "second", **more).status_code == 200


ODD = ["input_reference[File_Id]", "input_reference[file\\_id]"]
ODD += ["image['file_id']", "images[0][file%5Fid]", "image[ file_id]", "image[fileid]"]
ODD += ["images/file_id", "images->file_id", "images:file_id", "file_id;x", "images[file-id]"]


@pytest.mark.parametrize("name", ODD)
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
