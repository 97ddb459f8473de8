"""Topics of Kafka as tasks read them: settings of a client, ranges of offsets, records as Arrow columns."""
