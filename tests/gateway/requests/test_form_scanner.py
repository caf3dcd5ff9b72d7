"""Forms that pass: any split is read alike, and what two servers may read in two ways is rejected."""

import itertools
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from python_multipart.multipart import MultipartParser

from pondero.errors import BadParameter
from pondero.gateway.requests.form_scanner import LONGEST_FIELD, FormScanner

BOUNDARY = "----formboundary0123"
KIND = f"multipart/form-data; boundary={BOUNDARY}"


def make_form(fields: list[tuple[str, bytes]], files: list[bytes]) -> tuple[str, bytes]:
    parts: list[Any] = [(name, (None, value)) for name, value in fields]
    parts += [("file", (f"{number}.bin", data)) for number, data in enumerate(files)]
    request = httpx.Request("POST", "http://x", files=parts or [("a", (None, b""))])
    return request.headers["content-type"], request.read()


def scan(kind: str, pieces: list[bytes], *names: str) -> FormScanner:
    scanner = FormScanner(kind, names or ("model",), once=("model",))
    for piece in pieces:
        scanner.feed(piece)
    scanner.end()
    return scanner


def judge(kind: str, body: bytes) -> list[bytes]:
    """Return the values of the parts as another reader finds them."""
    found: list[bytes] = []
    parser = MultipartParser(
        kind.partition("boundary=")[2].encode(),
        {
            "on_part_begin": lambda: found.append(b""),
            "on_part_data": lambda data, start, end: found.append(found.pop() + data[start:end]),
        },
    )
    parser.write(body)
    parser.finalize()
    return found


values = st.binary(max_size=60).filter(lambda each: BOUNDARY.encode() not in each)


@given(
    st.binary(min_size=1, max_size=40), st.lists(values, max_size=3), st.lists(st.integers(0, 900))
)
def test_a_form_is_read_alike_in_any_split(model, files, cuts):
    kind, body = make_form([("model", model), ("prompt", b"model")], files)
    places = sorted({min(cut, len(body)) for cut in cuts} | {0, len(body)})
    pieces = [body[a:b] for a, b in itertools.pairwise(places)]
    scanner = scan(kind, pieces)
    field = scanner.find("model")
    assert field is not None
    assert field.value == model
    assert body[field.begin : field.end] == model
    assert judge(kind, body)[0] == model


@given(st.lists(st.integers(0, 900)))
def test_a_field_that_comes_twice_is_rejected_in_any_split(cuts):
    kind, body = make_form([("model", b"a")], [b"x" * 200])
    second = body.partition(b"\r\n--")[0]
    end = f"--{kind.partition('boundary=')[2]}--".encode()
    body = body.rpartition(end)[0] + second + b"\r\n" + end + b"\r\n"
    places = sorted({min(cut, len(body)) for cut in cuts} | {0, len(body)})
    with pytest.raises(BadParameter, match="twice"):
        scan(kind, [body[a:b] for a, b in itertools.pairwise(places)])


def part(headers: str, value: str = "m") -> str:
    return f"--{BOUNDARY}\r\n{headers}\r\n\r\n{value}\r\n"


STAR = "; filename*=utf-8''a"
GOOD = 'Content-Disposition: form-data; name="model"'
END = f"--{BOUNDARY}--\r\n"
ODD = {
    "no end": part(GOOD),
    "text before it": "x\r\n" + part(GOOD) + END,
    "text after it": part(GOOD) + END + "x",
    "a second form after it": part(GOOD) + END + part(GOOD) + END,
    "bare line feeds": part(GOOD).replace("\r\n", "\n") + END,
    "a boundary after a bare line feed": part(
        'Content-Disposition: form-data; name="file"; filename="f"',
        f"a\n--{BOUNDARY}\r\n{GOOD}\r\n\r\nm",
    )
    + END,
    "the boundary inside of a value": part(GOOD, f"a--{BOUNDARY}b") + END,
    "two names": part('Content-Disposition: form-data; name="file"; name="model"') + END,
    "an extended name": part("Content-Disposition: form-data; name*=utf-8''model") + END,
    "a name of several words": part("Content-Disposition: form-data; name=mo del") + END,
    "a name with and without quotes": part(GOOD) + part(f"{GOOD[:-7]}model") + END,
    "a file with an extended name alone": part(f"{GOOD}{STAR}") + END,
    "a file with two extended names": part(f"{GOOD}; filename=a{STAR}{STAR}") + END,
    "two dispositions": part(f'{GOOD}\r\nContent-Disposition: form-data; name="x"') + END,
    "no disposition": part("Content-Type: text/plain") + END,
    "a folded header": part('Content-Disposition: form-data;\r\n name="model"') + END,
    "an attachment": part('Content-Disposition: attachment; name="model"') + END,
    "an encoding": part(f"{GOOD}\r\nContent-Transfer-Encoding: base64") + END,
    "a long field": part(GOOD, "m" * (LONGEST_FIELD + 1)) + END,
    "long headers": part(f"{GOOD}\r\nx: {'a' * 9000}") + END,
    "a name with brackets": part('Content-Disposition: form-data; name="model[]"') + END,
    "a name with an object in it": part('Content-Disposition: form-data; name="model[file_id]"')
    + END,
    "a name in capitals": part('Content-Disposition: form-data; name="Model"') + END,
    "a name with a backslash": part('Content-Disposition: form-data; name="mo\\del"') + END,
    "a space before the colon": part('Content-Disposition : form-data; name="model"') + END,
}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("size", [1, 7, 100_000])
def test_a_form_that_servers_may_read_differently_is_rejected(name, size):
    body = ODD[name].encode()
    with pytest.raises(BadParameter):
        scan(KIND, [body[at : at + size] for at in range(0, len(body), size)])


@pytest.mark.parametrize(
    "kind",
    [
        "multipart/form-data",
        f"{KIND}; boundary=other",
        f"multipart/form-data; charset=utf-16; boundary={BOUNDARY}",
        f"multipart/form-data; charset=utf-8; boundary={BOUNDARY}; boundary=b",
        "multipart/form-data; boundary=",
        "multipart/form-data; boundary=" + "a" * 71,
        "multipart/mixed; boundary=a",
    ],
)
def test_a_form_has_one_boundary(kind):
    with pytest.raises(BadParameter):
        FormScanner(kind, ("model",))


PLAIN = [
    ("Content-Disposition: form-data; name=model", False),
    (
        "Content-Type: text/plain; charset=utf-8\r\nContent-Disposition: form-data; name=model",
        False,
    ),
    ("Content-Disposition: form-data; name=model; filename=a.mp3", True),
    ("Content-Disposition: form-data; name=model; filename=a.mp3; filename*=utf-8''a.mp3", True),
    (f"{GOOD}; filename=\"=?utf-8?B?w6Q=?=\"; filename*=utf-8''%C3%A4", True),
]


@pytest.mark.parametrize(("headers", "is_file"), PLAIN)
def test_names_without_quotes_are_read_as_dotnet_writes_them(headers, is_file):
    found = scan(f'multipart/form-data; boundary="{BOUNDARY}"', [(part(headers) + END).encode()])
    assert [each.text for each in found.fields["model"]] == ["m"]
    assert found.has_file == is_file


@pytest.mark.parametrize(
    "kind",
    [
        f"multipart/form-data;charset=UTF-8;boundary={BOUNDARY}",
        f'multipart/form-data; boundary="{BOUNDARY}"; charset="utf-8"',
    ],
)
def test_a_form_may_say_that_its_texts_are_utf_8(kind):
    assert scan(kind, [(part(GOOD) + END).encode()]).find("model").text == "m"


NESTED = [
    ("file_id", "file_id"),
    ("images[0][file_id]", "file_id"),
    ("mask.file_id", "file_id"),
    ("x[file_ids][]", "file_ids"),
    ("file_ids[0]", "file_ids"),
    ("metadata[model]", None),
    ("images[0][file_id_of]", None),
]


@pytest.mark.parametrize(("name", "watched"), NESTED)
def test_a_field_of_an_object_is_found(name, watched):
    body = (part(f'Content-Disposition: form-data; name="{name}"', "v") + END).encode()
    scanner = scan(KIND, [body], "model", "file_id", "file_ids")
    assert {each: [field.text for field in found] for each, found in scanner.fields.items()} == (
        {watched: ["v"]} if watched is not None else {}
    )


def test_a_quoted_boundary_and_an_empty_part_are_read():
    body = (part(GOOD, "") + END).encode()
    field = scan(f'multipart/form-data; boundary="{BOUNDARY}"', [body]).find("model")
    assert field is not None
    assert field.value == b""
