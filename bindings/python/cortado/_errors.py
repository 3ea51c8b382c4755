"""Errors as the library reports them."""


class Error(RuntimeError):
    """What went wrong: `code` is stable and in docs/errors.md, `message` says it, `hint` what to do next."""

    def __init__(self, code, message, hint="", text=None):
        super().__init__(text or message)
        self.code = code
        self.message = message
        self.hint = hint
