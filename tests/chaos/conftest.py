"""What pytest must leave alone here."""

collect_ignore = ["jumping_clock"]  # it changes the clock of the process that imports it
