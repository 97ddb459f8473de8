"""The names of weekdays that NEXT_DAY takes, with their numbers: Monday is 1."""

from __future__ import annotations

_NAMES = (
    ("MO", "MON", "MONDAY"),
    ("TU", "TUE", "TUESDAY"),
    ("WE", "WED", "WEDNESDAY"),
    ("TH", "THU", "THURSDAY"),
    ("FR", "FRI", "FRIDAY"),
    ("SA", "SAT", "SATURDAY"),
    ("SU", "SUN", "SUNDAY"),
)
WEEKDAY_NUMBERS = {name: number for number, names in enumerate(_NAMES, 1) for name in names}
