"""What schemathesis must know about the backend besides its description: which credential opens what, and that nobody
wants to wait. It loads this by SCHEMATHESIS_HOOKS; the credentials stand in the environment."""

import base64
import hashlib
import json
import os
import time

import jwt
import schemathesis

CREDENTIALS = json.loads(os.environ["RECBOT_TEST_CREDENTIALS"])


@schemathesis.auth(refresh_interval=None)
class Credentials:
    """Shows the credential that the operation's `security` names."""

    def get(self, case, _context) -> str | None:
        """The name of the scheme; None for what is open, or where this backend asks for nothing."""
        security = case.operation.definition.raw.get("security", [{"caller": []}])
        return next((name for entry in security for name in entry if name in CREDENTIALS), None)

    def set(self, case, data, _context) -> None:
        """Puts it into the request."""
        if data:
            case.headers["Authorization"] = f"Bearer {CREDENTIALS[data]}"


def vouching(body: bytes) -> str:
    """As LiveKit's servers sign an event: a token that holds the body's hash."""
    claims = {"iss": CREDENTIALS["key"], "exp": int(time.time()) + 60,
              "sha256": base64.b64encode(hashlib.sha256(body).digest()).decode()}
    return jwt.encode(claims, CREDENTIALS["secret"], algorithm="HS256")


def short(wait):
    """A wait that is allowed, but not worth it."""
    return 1 if str(wait).isdecimal() and 1 < int(wait) <= 3600 else wait


@schemathesis.hook
def before_call(_context, case, _kwargs) -> None:
    """Signs good events; shortens what would be held for up to a minute."""
    is_good = case.meta is None or case.meta.generation.mode == schemathesis.GenerationMode.POSITIVE
    if case.operation.label == "POST /webhooks/livekit" and is_good and isinstance(case.body, dict):
        # Only where `Credentials` was: a wrong credential stays wrong.
        if (case.headers or {}).get("Authorization") == f"Bearer {CREDENTIALS['roomService']}":
            case.body = json.dumps(case.body).encode()
            case.headers["Authorization"] = f"Bearer {vouching(case.body)}"
    if case.query and "wait" in case.query:
        case.query["wait"] = short(case.query["wait"])
    if isinstance(case.body, dict) and "wait" in case.body and not isinstance(case.body["wait"], (bool, str)):
        case.body["wait"] = short(case.body["wait"])
