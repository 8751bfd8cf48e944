"""The reference receiver of batches and delivery receipts: python Examples/receiver --help"""

import argparse
import os
import signal
import ssl
import sys
import threading
from datetime import timedelta
from types import FrameType

from misbehaviour import Misbehaviour
from records import Log, RawLog
from server import Server, Settings
from storage import Store
from verification import Verifier


def read_key(path: str) -> bytes:
    """A key file's one final line end (LF or CRLF) is not part of the key; nothing is decoded (PROTOCOL.md)."""
    with open(path, "rb") as file:
        key = file.read()
    if key.endswith(b"\n"):
        key = key[: -2 if key.endswith(b"\r\n") else -1]
    return key


def signing_key(text: str) -> tuple[str, bytes]:
    name, separator, path = text.partition("=")
    if not (name and separator and path):
        raise argparse.ArgumentTypeError("give it as ID=FILE")
    try:
        key = read_key(path)
    except OSError as error:
        raise argparse.ArgumentTypeError(f"{path}: {error.strerror}") from None
    if len(key) < 32:
        raise argparse.ArgumentTypeError(f"{path}: a signing key has 32 bytes or more")
    return name, key


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="receiver", description="Receives batches and delivery receipts over TLS.")
    parser.add_argument("--certificate", required=True, metavar="FILE", help="certificate chain, PEM")
    parser.add_argument("--key", required=True, metavar="FILE", help="its private key, PEM")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at (default: %(default)s)")
    parser.add_argument("--port", type=int, default=0, help="0: any free one (default)")
    parser.add_argument("--database", required=True, metavar="FILE", help="the store; made if absent")
    parser.add_argument("--study", metavar="NUMBER", help="the study to take batches of (default: any); /insert/ and /receipt/ name none, so require signatures as well")
    parser.add_argument("--study-key-file", metavar="FILE", help="the study's key, less one final LF or CRLF")
    parser.add_argument(
        "--signing-key",
        action="append",
        default=[],
        type=signing_key,
        metavar="ID=FILE",
        help="a key of 32 bytes or more, as keygen --signing makes it; one final LF or CRLF is not part of it; repeatable",
    )
    parser.add_argument("--require-signature", action="store_true", help="refuse what is not signed")
    parser.add_argument(
        "--max-age",
        type=float,
        default=300,
        metavar="SECONDS",
        help="how far a signature's time may be off, either way (default: %(default)s)",
    )
    parser.add_argument(
        "--authority",
        action="append",
        default=[],
        metavar="HOST[:PORT]",
        help="refuse requests for other hosts, so that none signed for another receiver is taken; repeatable",
    )
    parser.add_argument(
        "--receipt-tag",
        action="append",
        metavar="TAG",
        help="tags that sign receipts; repeatable (default: aware-batch and aware-receipt)",
    )
    parser.add_argument("--max-body", type=int, default=8 << 20, metavar="BYTES", help="(default: %(default)s)")
    parser.add_argument("--acknowledge-forms", action="store_true", help="answer forms with an acknowledgement as well")
    parser.add_argument("--log", metavar="FILE", help="a JSON line a request, without content or keys")
    parser.add_argument("--raw-log", metavar="FOLDER", help="every request as it came, content included: for tests")
    parser.add_argument("--misbehave", metavar="FILE", help="answers to get wrong (see misbehaviour.py): for tests")
    return parser


def main() -> None:
    parser = options()
    given = parser.parse_args()
    if (given.study is None) != (given.study_key_file is None):
        parser.error("--study and --study-key-file go together")
    if given.require_signature and not given.signing_key:
        parser.error("--require-signature needs a --signing-key")
    os.umask(0o077)  # what is stored is the participants'
    try:
        study = None if given.study is None else (given.study, read_key(given.study_key_file).decode())
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.minimum_version = ssl.TLSVersion.TLSv1_2
        tls.load_cert_chain(given.certificate, given.key)
        settings = Settings(
            verifier=Verifier(
                signing_keys=dict(given.signing_key),
                requires_signature=given.require_signature,
                max_age=timedelta(seconds=given.max_age),
                study=study,
                authorities=[name.lower() for name in given.authority],
            ),
            store=Store(given.database),
            log=Log(given.log),
            raw_log=RawLog(given.raw_log),
            misbehaviour=Misbehaviour(given.misbehave),
            max_body=given.max_body,
            acknowledges_forms=given.acknowledge_forms,
            receipt_tags=frozenset(given.receipt_tag or ("aware-batch", "aware-receipt")),
        )
        server = Server((given.host, given.port), tls, settings)
    except (OSError, ValueError) as error:
        sys.exit(f"receiver: {error}")

    def end(number: int, frame: FrameType | None) -> None:
        server.is_ending = True
        # Not from here: it waits for the loop that this handler interrupts.
        threading.Thread(target=server.shutdown, daemon=True).start()

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    # Whoever started this may have had them blocked.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM, signal.SIGINT})
    host = "localhost" if given.host == "127.0.0.1" else given.host
    print(f"listening on https://{host}:{server.server_port}", flush=True)
    server.serve_forever(poll_interval=0.05)
    server.close()


if __name__ == "__main__":
    main()
