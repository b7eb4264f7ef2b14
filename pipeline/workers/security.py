"""Certificates for a scheduler that speaks TLS: from options, else from Dask's own configuration."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gravel.pipeline.core.errors import RequestError

ENCRYPTED = ("tls", "wss")

_HINT = (
    "give --tls-ca, --tls-cert and --tls-key, or set distributed.comm.tls in Dask's configuration; "
    "see docs/clusters.md"
)


@dataclass(frozen=True)
class Tls:
    """PEM files: the authority that signed the scheduler's certificate, and this side's certificate and key.

    `key` may be None if the file of the certificate holds it too.
    """

    ca: Path
    certificate: Path
    key: Path | None = None


def tls_of(ca: str | None, certificate: str | None, key: str | None) -> Tls | None:
    """Return what the options name, None without any; raises RequestError for half of them."""
    if ca is None and certificate is None and key is None:
        return None
    if ca is None or certificate is None:
        raise RequestError(
            f"--tls-{'ca' if ca is None else 'cert'} is missing",
            hint="TLS takes --tls-ca and --tls-cert, and --tls-key unless the second file holds the key too",
        )
    return Tls(Path(ca), Path(certificate), None if key is None else Path(key))


def encrypted(address: str) -> bool:
    """Say whether what listens at an address speaks TLS, and to holders of a certificate only."""
    return address.partition("://")[0] in ENCRYPTED


def security(tls: Tls | None, address: str) -> Any | None:
    """Return Dask's `Security` for an address, None where its own configuration decides.

    Raises RequestError if the address and the certificates do not go together, or a file is no PEM file of
    the kind that is wanted.
    """
    from distributed.security import Security

    if tls is not None and not encrypted(address):
        raise RequestError(
            f"certificates are given, and {address} is not encrypted",
            hint="start the scheduler with tls:// and certificates of its own, or leave the options out",
        )
    if not encrypted(address):
        return None
    if tls is None:
        if not Security().tls_ca_file:
            raise RequestError(f"{address} needs certificates, and none are given", hint=_HINT)
        return _loadable(Security())
    for file in (tls.ca, tls.certificate, tls.key):
        if file is not None:
            _read(file)
    return _loadable(
        Security(
            require_encryption=True,
            tls_ca_file=str(tls.ca.absolute()),
            tls_client_cert=str(tls.certificate.absolute()),
            tls_client_key=None if tls.key is None else str(tls.key.absolute()),
        )
    )


def _read(file: Path) -> None:
    try:
        file.read_bytes()
    except OSError as error:
        raise RequestError(f"{file} cannot be read: {error.strerror}", hint=_HINT) from None


def _loadable(chosen: Any) -> Any:
    """Load the files once, since Dask takes what it cannot load for a scheduler that does not answer."""
    import ssl

    try:
        chosen.get_connection_args("client")
    except (ssl.SSLError, OSError, ValueError) as error:
        raise RequestError(
            f"the TLS files cannot be used: {error}",
            hint="they are PEM files: the authority's certificate, a certificate and its key",
        ) from error
    return chosen


_NAME = "gravel-run"

_FROM = datetime.datetime(2000, 1, 1)
_UNTIL = datetime.datetime(9999, 12, 31)
"""No dates: the key ends with its run, and a clock that is set back must not end it earlier."""


def run_security() -> Any:
    """Make a key pair and return Dask's `Security` with it, the same for client, scheduler and workers.

    Dask's own `Security.temporary` makes an RSA key, which takes 10 to 100 ms; this one takes less than 1 ms.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID
    from distributed.security import Security

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, _NAME)])
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(_NAME)]), critical=False)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(_FROM)
        .not_valid_after(_UNTIL)
        .sign(key, hashes.SHA256())
    )
    certificate = signed.public_bytes(serialization.Encoding.PEM).decode()
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
    roles = ("client", "scheduler", "worker")
    return Security(
        require_encryption=True,
        tls_ca_file=certificate,
        **{f"tls_{role}_cert": certificate for role in roles},
        **{f"tls_{role}_key": secret for role in roles},
        # Whatever Dask's configuration says of other clusters.
        tls_ciphers=None,
        tls_min_version=None,
        tls_max_version=None,
    )
