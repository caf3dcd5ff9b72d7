"""Who acts in the admin API: the holder of a key, or whoever uses this machine."""

import pytest

from pondero.canon import HttpRequest
from pondero.gateway.admin.access import check_role, find_actor
from pondero.gateway.admin.actor import Actor
from pondero.gateway.config.model import GatewayKey
from pondero.gateway.config.secrets import hash_key
from pondero.gateway.requests.requester import AccessDenied

ADMIN = "pnd_admin"
KEYS = (GatewayKey("boss", hash_key(ADMIN), admin=True),)


def http_of(key: str | None = None) -> HttpRequest:
    headers = {} if key is None else {"authorization": f"Bearer {key}"}
    return HttpRequest("GET", "http://g/admin/keys", headers)


def test_the_holder_of_an_admin_key_acts_under_its_name():
    assert find_actor(http_of(ADMIN), KEYS, 0.0) == Actor("boss", "admin", "key")


def test_without_an_admin_key_whoever_uses_this_machine_acts():
    assert find_actor(http_of(), (), 0.0) == Actor("local", "admin", "local")


def test_a_viewer_changes_nothing():
    viewer = Actor("ann", "viewer", "oidc")

    with pytest.raises(AccessDenied) as denied:
        check_role(viewer, "admin")

    assert denied.value.status == 403
    check_role(viewer, "viewer")
    check_role(Actor("ben", "admin", "oidc"), "admin")
