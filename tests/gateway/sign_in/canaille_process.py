"""Canaille, an identity provider of the package index, as a process of its own.

``python canaille_process.py REDIRECT_URL`` prints the issuer, then serves.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

CLIENT, SECRET = "pondero", "a-client-secret-of-the-tests"
PASSWORD = "correct horse battery staple"
PEOPLE = {"ada": "platform", "vera": "engineering", "mallory": "marketing"}
"""Each person's group: an admin, a viewer, and one who has no role."""


@contextmanager
def run_canaille(redirect_url: str) -> Iterator[str]:
    """Start the provider, and yield its issuer."""
    command = [sys.executable, __file__, redirect_url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            issuer = process.stdout.readline().strip()
            assert issuer.startswith("http://127.0.0.1:"), issuer
            yield issuer
        finally:
            process.kill()


def _serve(redirect_url: str) -> None:
    from canaille import create_app
    from joserfc.jwk import RSAKey
    from werkzeug.serving import make_server

    server = make_server("127.0.0.1", 0, lambda *_: [], threaded=True)
    where = f"127.0.0.1:{server.server_port}"
    key = RSAKey.generate_key(2048, auto_kid=True)
    app = create_app(
        {
            "SECRET_KEY": "a secret of the tests",
            "SERVER_NAME": where,
            "PREFERRED_URL_SCHEME": "http",
            "CANAILLE": {
                "DATABASE": "memory",
                "LOGGING": {"version": 1, "root": {"level": "ERROR"}},
                "CAPTCHA_ENABLED": False,
            },
            "CANAILLE_OIDC": {"ACTIVE_JWKS": [key.as_dict(private=True)]},
        },
        init_backend=True,
    )
    server.app = app
    with app.app_context():
        _populate(redirect_url)
    sys.stdout.write(f"http://{where}\n")
    sys.stdout.flush()
    server.serve_forever()


def _populate(redirect_url: str) -> None:
    from canaille.app import models
    from canaille.backends import Backend

    save = Backend.instance.save
    for name, group in PEOPLE.items():
        person = models.User(
            user_name=name,
            formatted_name=name.title(),
            family_name=name.title(),
            emails=[f"{name}@example.org"],
            password=PASSWORD,
        )
        save(person)
        save(models.Group(display_name=group, members=[person]))
    client = models.Client(
        client_id=CLIENT,
        client_name="pondero",
        client_secret=SECRET,
        client_uri="http://127.0.0.1",
        redirect_uris=[redirect_url],
        grant_types=["authorization_code"],
        response_types=["code"],
        scope=["openid", "profile", "email", "groups"],
        token_endpoint_auth_method="client_secret_basic",
    )
    save(client)
    client.audience = [client]
    save(client)


if __name__ == "__main__":
    _serve(sys.argv[1])
