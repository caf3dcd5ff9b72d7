"""A private certificate authority, with a certificate for a server and one for a client."""

import datetime as dt
import ipaddress
import ssl
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_NOW = dt.datetime.now(dt.UTC)


class TlsFiles:
    """The files of one authority, in a folder."""

    def __init__(self, folder: Path) -> None:
        self.authority = folder / "authority.pem"
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name("A private authority")
        made = self._sign(self._name, self._key, authority=True)
        self.authority.write_bytes(made)
        self.server, self.server_key = self._issue(folder, "server")
        self.client, self.client_key = self._issue(folder, "client")
        self.locked_key = folder / "locked-key.pem"
        key = serialization.load_pem_private_key(self.client_key.read_bytes(), None)
        self.locked_key.write_bytes(_pem(key, serialization.BestAvailableEncryption(b"sesame")))
        self.both = folder / "both.pem"
        self.both.write_bytes(self.client.read_bytes() + self.client_key.read_bytes())

    def server_context(self, *, ask_client: bool = False) -> ssl.SSLContext:
        """Return the context of a server; ``ask_client``: a client needs a certificate."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.server, self.server_key)
        if ask_client:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(self.authority)
        return context

    def _issue(self, folder: Path, name: str) -> tuple[Path, Path]:
        key = ec.generate_private_key(ec.SECP256R1())
        certificate, private = folder / f"{name}.pem", folder / f"{name}-key.pem"
        certificate.write_bytes(self._sign(_name(name), key, authority=False))
        private.write_bytes(_pem(key, serialization.NoEncryption()))
        return certificate, private

    def _sign(self, name: x509.Name, key: ec.EllipticCurvePrivateKey, *, authority: bool) -> bytes:
        names = [
            x509.IPAddress(ipaddress.ip_address("127.0.0.1")),
            x509.DNSName("localhost"),
            x509.DNSName("service.invalid"),
        ]
        made = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(_NOW - dt.timedelta(days=1))
            .not_valid_after(_NOW + dt.timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
            .add_extension(x509.SubjectAlternativeName(names), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        return made.public_bytes(serialization.Encoding.PEM)


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _pem(key, encryption) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption
    )
