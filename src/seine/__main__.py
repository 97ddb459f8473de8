"""`python -m seine`."""

import sys

from seine.cli.main import main

sys.exit(main())
