"""Who may send, and whether what came is what was sent: study keys, RFC 9530 digests, RFC 9421 signatures.

Needs nothing but the request and the keys, so that it can stand in front of any number of stores.
"""

import hashlib
import hmac
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import http_sf
from http_message_signatures import HTTPMessageVerifier, InvalidSignature, MappingKeyResolver
from http_message_signatures.algorithms import HMAC_SHA256

from protocol import Headers, Refusal, Request, Route

COVERED = frozenset(
    f'"{name}"' for name in ("@method", "@authority", "@path", "content-type", "content-digest", "idempotency-key")
)
# A repeated one of these would leave open which of them counts.
_SINGLE = frozenset(
    ("host", "content-type", "content-length", "content-digest", "idempotency-key", "signature", "signature-input")
)


@dataclass(frozen=True)
class Fields:
    """Headers as http-message-signatures reads them: repeated ones one by one."""

    pairs: Headers

    def items(self) -> Headers:
        return self.pairs


@dataclass(frozen=True)
class Message:
    """A request as http-message-signatures reads it."""

    method: str
    url: str
    headers: Fields


@dataclass(frozen=True)
class Sender:
    """What is known of a request after its verification."""

    key_id: str | None  # of its signature, if it has one
    idempotency_key: str | None
    digest: bytes  # SHA-256 of the body


@dataclass(frozen=True)
class Verifier:
    signing_keys: Mapping[str, bytes]
    requires_signature: bool = False
    max_age: timedelta = timedelta(seconds=300)
    study: tuple[str, str] | None = None  # number and key
    authorities: Collection[str] = ()  # the names this receiver goes by; empty: any

    def check_head(self, headers: Headers, route: Route) -> None:
        """What can be said without the body."""
        names = [name.lower() for name, _ in headers]
        for name in _SINGLE:
            if names.count(name) > 1:
                raise Refusal(400, f"{name} is repeated")
        fields = {name.lower(): value for name, value in headers}
        if self.authorities and fields.get("host", "").lower() not in self.authorities:
            raise Refusal(421, "this receiver does not go by that name")
        if fields.get("content-encoding", "identity").lower() != "identity":
            raise Refusal(415, "the body has a content coding")
        if fields.get("content-type", "").partition(";")[0].strip().lower() != route.content_type:
            raise Refusal(415, f"the content type is not {route.content_type}")
        if self.study and route.study:
            given, ours = ("\0".join(study).encode(errors="replace") for study in (route.study, self.study))
            if not hmac.compare_digest(given, ours):
                raise Refusal(401, "the study's number or key is wrong")

    def check(self, request: Request, tags: Collection[str]) -> Sender:
        """The digest over the bytes received, and the signature over the digest."""
        digest = hashlib.sha256(request.body).digest()
        if (field := request.header("content-digest")) is not None:
            try:
                given = _structured(field, "dictionary")["sha-256"][0]
            except (ValueError, KeyError):
                raise Refusal(400, "Content-Digest has no sha-256") from None
            if not isinstance(given, bytes) or not hmac.compare_digest(given, digest):
                raise Refusal(400, "Content-Digest is not that of the body")
        return Sender(self._key_id(request, tags), _idempotency_key(request), digest)

    def _key_id(self, request: Request, tags: Collection[str]) -> str | None:
        if request.header("signature") is None and request.header("signature-input") is None:
            if self.requires_signature:
                raise Refusal(401, "the signature is missing")
            return None
        verifier = HTTPMessageVerifier(
            signature_algorithm=HMAC_SHA256,
            key_resolver=MappingKeyResolver(public_keys=self.signing_keys, private_keys={}),
        )
        # A phone's clock may be fast as well as slow: the one allowance serves both ways.
        verifier.max_clock_skew = self.max_age
        message = Message(request.method, f"https://{request.header('host')}{request.path}", Fields(request.headers))
        try:
            [result] = verifier.verify(message, max_age=timedelta(0))
        except InvalidSignature as error:
            raise Refusal(401, f"the signature does not hold: {_reason(error)}") from None
        if set(result.covered_components) - {'"@signature-params"'} != COVERED:
            raise Refusal(401, "the signature does not cover exactly what it must")
        if result.parameters.get("tag") not in tags:
            raise Refusal(401, "the signature's tag is for something else")
        return str(result.parameters["keyid"])


def _reason(error: InvalidSignature) -> str:
    text = str(error)
    for part, reason in {
        "future": "created in the future",
        "age exceeds": "too old",
        '"created"': "created is missing",
        "resolve": "unknown keyid",
        "not found": "a covered field is missing",
    }.items():
        if part in text:
            return reason
    return "malformed, or not made with this key over this request"


def _idempotency_key(request: Request) -> str | None:
    if (field := request.header("idempotency-key")) is None:
        return None
    try:
        item = _structured(field, "item")[0]
    except ValueError:
        item = None
    if type(item) is not str or not 1 <= len(item) <= 255:
        raise Refusal(400, "Idempotency-Key is not a quoted string of at most 255 characters")
    return item


def _structured(field: str, kind: str) -> Any:
    """The value of a structured field (RFC 9651); ValueError if it is none."""
    return http_sf.parse(field.encode(), tltype=kind)
