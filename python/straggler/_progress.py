"""How far things are: a bar below a notebook's cell, else a line on standard error."""
import html
import sys
from typing import Any, Callable, Optional, Tuple, Union

Progress = Union[bool, Callable[..., None]]
#: Makes (fraction done, words) of what the extension tells.
Words = Callable[..., Tuple[float, str]]


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return shell is not None and hasattr(shell, "kernel")


class _Line:
    def tell(self, fraction: float, words: str) -> None:
        print(f"\r{100 * fraction:3.0f} %  {words}   ", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        print(file=sys.stderr)


class _Bar:
    def __init__(self) -> None:
        self._handle: Any = None  # made with the first words

    def tell(self, fraction: float, words: str) -> None:
        from IPython.display import HTML, display
        bar = HTML(f'<progress value="{fraction:.4f}" max="1" style="width: 16em; vertical-align: middle"></progress> {html.escape(words)}')
        if self._handle is None:
            self._handle = display(bar, display_id=True)
        else:
            self._handle.update(bar)

    def end(self) -> None:
        from IPython.display import HTML
        if self._handle is not None:
            self._handle.update(HTML(""))


class Teller:
    """Reports progress as `progress` requests: to nobody (False), to the user (True), or to a function."""

    def __init__(self, progress: Progress, words: Words):
        if not callable(progress) and not isinstance(progress, bool):
            raise TypeError(f"progress is {progress!r}; write True, False or a function")
        self._shown: Any = None
        self.function: Optional[Callable[..., None]] = progress if callable(progress) else None  #: for the extension; None: nobody is told
        if progress is True:
            self._shown = _Bar() if _in_notebook() else _Line()
            self.function = lambda *now: self._shown.tell(*words(*now))

    def __enter__(self) -> Optional[Callable[..., None]]:
        return self.function

    def __exit__(self, *failure: Any) -> None:
        if self._shown is not None:
            self._shown.end()
