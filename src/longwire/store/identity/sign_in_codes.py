"""The codes of links by which people sign in once."""

from longwire.model import SignInCode
from longwire.store import schema
from longwire.store.rows import Rows

SIGN_IN_CODES = Rows(SignInCode, schema.sign_in_code, "digest")
