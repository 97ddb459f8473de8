"""Where a query of a service begins: at its registration, or with tuples from before.

    CREATE QUERY q WITH (history = 'window') AS SELECT k, COUNT(*) AS n FROM s GROUP BY k;

'window': the tuples whose life has not ended at that moment; 'retained': all that the service retains.
"""

from __future__ import annotations

from typing import Final

WINDOW: Final = "window"
RETAINED: Final = "retained"
HISTORIES = (WINDOW, RETAINED)
