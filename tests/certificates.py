"""Self-signed certificates for tests."""

import datetime
import ipaddress
import ssl
import tempfile
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

LOCALHOST = "localhost"


def create_certificate(host: str = LOCALHOST, *, days: int = 1) -> tuple[bytes, bytes]:
    """A certificate for a name or an address, valid for so many days, and its key, both as PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=2))
        .not_valid_after(now + datetime.timedelta(days=days))
        .add_extension(x509.SubjectAlternativeName([_alternative_name(host)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    key_pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return certificate.public_bytes(serialization.Encoding.PEM), key_pem


def _alternative_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def write_certificate(folder: Path, host: str = LOCALHOST) -> tuple[Path, Path]:
    """The same as files."""
    folder.mkdir(parents=True, exist_ok=True)
    certificate, key = create_certificate(host)
    certificate_file, key_file = folder / "cert.pem", folder / "key.pem"
    certificate_file.write_bytes(certificate)
    key_file.write_bytes(key)
    return certificate_file, key_file


def create_tls_context(host: str, *, days: int = 1) -> tuple[ssl.SSLContext, bytes]:
    """The TLS context of a server with such a certificate, and the certificate."""
    certificate, key = create_certificate(host, days=days)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:
        both = Path(folder, "both.pem")
        both.write_bytes(key + certificate)
        context.load_cert_chain(both)
    return context, certificate
