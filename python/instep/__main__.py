"""``python -m instep`` is the program ``instep``."""

from ._program import main

main()
