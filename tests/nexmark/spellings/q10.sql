--:
SELECT auction, bidder, price, date_time, extra, TO_CHAR(date_time, 'YYYY-MM-DD') AS dt,
  TO_CHAR(date_time, 'HH24:MI') AS hm FROM bid;

--:
SELECT auction, bidder, price, date_time, extra, to_char(date_time, 'yyyy-MM-dd') AS dt,
  to_char(date_time, 'HH:mm') AS hm FROM bid;

--:
SELECT auction, bidder, price, date_time, extra, CAST(CAST(date_time AS DATE) AS STRING) AS dt,
  substring(CAST(date_time AS STRING), 12, 5) AS hm FROM bid;

--: ms
SELECT auction, bidder, price, date_time, extra, date_format(timestamp_millis(date_time), 'yyyy-MM-dd') AS
  dt, from_unixtime(date_time DIV 1000, 'HH:mm') AS hm FROM bid;

--:
SELECT auction, bidder, price, date_time, extra, date_time::date::text AS dt, lpad(EXTRACT(HOUR FROM
  date_time)::TEXT, 2, '0') || ':' || lpad(EXTRACT(MINUTE FROM date_time)::TEXT, 2, '0') AS hm FROM bid;

--:
SELECT auction, bidder, price, date_time, extra, CONCAT(YEAR(date_time), '-', LPAD(MONTH(date_time), 2,
  '0'), '-', LPAD(DAY(date_time), 2, '0')) AS dt, FORMAT_STRING('%02d:%02d', HOUR(date_time),
  MINUTE(date_time)) AS hm FROM bid;
