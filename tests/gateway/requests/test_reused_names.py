"""Names that clients choose, and that come to mean another thing: whose they are then."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from tests.gateway.endpoint_gateway import both, secret
from tests.gateway.endpoint_service import Asked, Served, until

NAME = "files/report"
UPLOAD = "/upload/v1beta/files"


class Files:
    """Google's files: a name is free until somebody takes it, and after its deletion."""

    def __init__(self) -> None:
        self.held: dict[str, str] = {}
        self.uploads: dict[str, str] = {}

    def answer(self, asked: Asked) -> Served:
        if "/upload/" in asked.path:
            return self._upload(asked)
        name = f"files/{asked.path.rpartition('/')[2].partition(':')[0]}"
        if name not in self.held:
            return Served(404, "application/json", b'{"error": {"message": "gone"}}')
        if asked.method == "DELETE":
            del self.held[name]
            return Served(200, "application/json", b"{}")
        if asked.path.endswith(":download"):
            return Served(200, "text/plain", self.held[name].encode())
        return Served(200, "application/json", json.dumps({"name": name}).encode())

    def _upload(self, asked: Asked) -> Served:
        if "upload_id" not in asked.query:
            self.uploads[id := f"up{len(self.uploads)}"] = ""
            at = {"x-goog-upload-url": f"https://g{UPLOAD}?upload_id={id}"}
            return Served(200, "application/json", b"{}", at)
        id = asked.query.partition("upload_id=")[2]
        if not self.uploads[id]:
            if NAME in self.held:
                return Served(409, "application/json", b'{"error": {"message": "it exists"}}')
            self.uploads[id] = self.held[NAME] = asked.body.decode()
        return Served(200, "application/json", json.dumps({"file": {"name": NAME}}).encode())


@pytest.fixture
def gateway() -> Iterator[Any]:
    with both() as found, httpx.Client(base_url=found.url, timeout=60) as http:
        found.http = http
        found.files = Files()
        found.service.answer = found.files.answer
        yield found


def ask(gateway: Any, method: str, path: str, key: str, **more: Any) -> httpx.Response:
    headers = {"authorization": f"Bearer {secret(key)}"}
    return gateway.http.request(method, path, headers=headers, **more)


def upload(gateway: Any, key: str, text: str) -> str:
    start = ask(gateway, "POST", UPLOAD, key, json={"file": {"name": NAME}})
    at = start.headers["x-goog-upload-url"]
    assert gateway.http.post(at, content=text).status_code == 200
    return at


def download(gateway: Any, key: str) -> httpx.Response:
    return ask(gateway, "GET", f"/download/v1beta/{NAME}:download?alt=media", key)


def test_a_name_that_was_deleted_is_of_the_key_that_uses_it_next(gateway):
    upload(gateway, "plain", "of plain")
    assert ask(gateway, "DELETE", f"/v1beta/{NAME}", "plain").status_code == 200
    upload(gateway, "second", "of second")
    assert download(gateway, "second").text == "of second"
    assert download(gateway, "plain").status_code == 404
    assert ask(gateway, "GET", f"/v1beta/{NAME}", "plain").status_code == 404
    assert ask(gateway, "DELETE", f"/v1beta/{NAME}", "plain").status_code == 404
    assert gateway.files.held == {NAME: "of second"}


@pytest.mark.parametrize("next_key", ["second", "plain"])
@pytest.mark.parametrize("by", ["plain", "account"])
def test_a_deletion_that_ends_late_takes_no_name_from_its_new_key(gateway, next_key, by):
    upload(gateway, "plain", "of plain")
    gateway.service.held = "DELETE"  # the file is gone, and the answer is still to come
    with ThreadPoolExecutor(1) as pool:
        deleting = pool.submit(ask, gateway, "DELETE", f"/v1beta/{NAME}", by)
        until(lambda: not gateway.files.held)
        upload(gateway, next_key, "of the next")
        gateway.service.held = ""
        assert deleting.result().status_code == 200
    assert gateway.files.held == {NAME: "of the next"}
    assert download(gateway, next_key).text == "of the next"
    other = {"second": "plain", "plain": "second"}[next_key]
    assert download(gateway, other).status_code == 404


def test_a_name_that_expired_at_the_service_is_of_the_key_that_uses_it_next(gateway):
    upload(gateway, "plain", "of plain")
    gateway.files.held.clear()
    upload(gateway, "second", "of second")
    assert download(gateway, "second").text == "of second"
    assert download(gateway, "plain").status_code == 404


def test_a_deleted_name_that_is_used_elsewhere_is_of_no_key(gateway):
    upload(gateway, "plain", "of plain")
    ask(gateway, "DELETE", f"/v1beta/{NAME}", "plain")
    gateway.files.held[NAME] = "of the account"
    assert download(gateway, "plain").status_code == 404
    assert download(gateway, "account").text == "of the account"


def test_an_upload_that_is_repeated_takes_no_name_from_its_new_key(gateway):
    at = upload(gateway, "plain", "of plain")
    ask(gateway, "DELETE", f"/v1beta/{NAME}", "plain")
    upload(gateway, "second", "of second")
    gateway.http.post(at, content="of plain")
    assert download(gateway, "plain").status_code == 404
    assert download(gateway, "second").text == "of second"


def test_a_name_that_is_in_use_stays_with_its_key(gateway):
    upload(gateway, "plain", "of plain")
    start = ask(gateway, "POST", UPLOAD, "second", json={"file": {"name": NAME}})
    assert gateway.http.post(start.headers["x-goog-upload-url"], content="x").status_code == 409
    assert download(gateway, "second").status_code == 404
    assert download(gateway, "plain").text == "of plain"


def test_a_key_with_account_state_that_reads_a_file_does_not_take_it(gateway):
    upload(gateway, "plain", "of plain")
    assert ask(gateway, "GET", f"/v1beta/{NAME}", "account").status_code == 200
    assert download(gateway, "plain").text == "of plain"
