"""`./exercise COMMAND`: the course on the command line."""

import sys

if sys.version_info < (3, 9):
    sys.exit("exercise: this needs Python 3.9 or newer, and found "
             f"{sys.version_info[0]}.{sys.version_info[1]}")

import cli  # noqa: E402

sys.exit(cli.main(sys.argv[1:]))
