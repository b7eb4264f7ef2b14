"""A certificate authority and what it signs, made anew for every test."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(frozen=True)
class Certificates:
    """Paths of PEM files."""

    ca: Path
    certificate: Path
    key: Path

    @property
    def options(self) -> tuple[str, ...]:
        """What Dask's commands take."""
        return (f"--tls-ca-file={self.ca}", f"--tls-cert={self.certificate}", f"--tls-key={self.key}")


def make_certificates(folder: Path, name: str) -> Certificates:
    """Make an authority of this name and one certificate by it, valid for an hour."""
    folder.mkdir(parents=True, exist_ok=True)
    made = Certificates(folder / f"{name}-ca.pem", folder / f"{name}.pem", folder / f"{name}-key.pem")
    authority, own = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"{name} authority")])
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)

    def sign(who: x509.Name, key: ec.EllipticCurvePrivateKey, authorised: bool) -> bytes:
        builder = (
            x509.CertificateBuilder()
            .subject_name(who)
            .issuer_name(issuer)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(minutes=5))
            .not_valid_after(now + datetime.timedelta(hours=1))
            .add_extension(x509.BasicConstraints(ca=authorised, path_length=None), critical=True)
        )
        return builder.sign(authority, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    made.ca.write_bytes(sign(issuer, authority, True))
    made.certificate.write_bytes(sign(subject, own, False))
    made.key.write_bytes(
        own.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return made
