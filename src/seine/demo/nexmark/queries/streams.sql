CREATE STREAM person (
  id BIGINT, name STRING, email_address STRING, credit_card STRING, city STRING, state STRING,
  date_time TIMESTAMP(3), extra STRING
) TIMESTAMP BY date_time LATENESS INTERVAL '4' SECOND FROM 'person';

CREATE STREAM auction (
  id BIGINT, item_name STRING, description STRING, initial_bid BIGINT, reserve BIGINT,
  date_time TIMESTAMP(3), expires TIMESTAMP(3), seller BIGINT, category BIGINT, extra STRING
) TIMESTAMP BY date_time LATENESS INTERVAL '4' SECOND UNIQUE (id) FROM 'auction';

CREATE STREAM bid (
  auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING,
  date_time TIMESTAMP(3), extra STRING
) TIMESTAMP BY date_time LATENESS INTERVAL '4' SECOND FROM 'bid';

CREATE RELATION side_input (key BIGINT, value STRING) FROM 'side_input.jsonl';
