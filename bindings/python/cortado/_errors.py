"""Errors as the library reports them."""


class Error(RuntimeError):
    """`code` is stable (docs/errors.md lists all codes), `message` says what went wrong, and `hint` what to do next."""

    def __init__(self, code, message, hint="", text=None):
        super().__init__(text or message)
        self.code = code
        self.message = message
        self.hint = hint
