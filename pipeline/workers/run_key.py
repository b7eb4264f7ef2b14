"""The key and certificate of one run: who holds them may speak to its scheduler, nannies and workers.

They exist in memory only, in the driver and in the workers that it starts, which get them through a pipe.
Python's `ssl` loads keys from files alone: Dask writes them into a folder of mode 0700 for that instant.
"""

from __future__ import annotations

import datetime
from typing import Any

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
