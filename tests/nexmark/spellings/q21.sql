--:
SELECT auction, bidder, price, channel, CASE WHEN lower(channel) = 'apple' THEN '0' WHEN lower(channel) =
  'google' THEN '1' WHEN lower(channel) = 'facebook' THEN '2' WHEN lower(channel) = 'baidu' THEN '3' ELSE
  REGEXP_EXTRACT(url, '(&|^)channel_id=([^&]*)', 2) END AS channel_id FROM bid WHERE REGEXP_EXTRACT(url,
  '(&|^)channel_id=([^&]*)', 2) is not null AND REGEXP_EXTRACT(url, '(&|^)channel_id=([^&]*)', 2) <> '' or
  lower(channel) in ('apple', 'google', 'facebook', 'baidu');

--:
SELECT auction, bidder, price, channel, CASE lower(channel) WHEN 'apple' THEN '0' WHEN 'google' THEN '1'
  WHEN 'facebook' THEN '2' WHEN 'baidu' THEN '3' ELSE split_part(url, 'channel_id=', 2) END AS channel_id
  FROM bid WHERE url LIKE '%channel_id=%' OR lower(channel) IN ('apple', 'google', 'facebook', 'baidu');

--:
SELECT auction, bidder, price, channel, CASE lower(channel) WHEN 'apple' THEN '0' WHEN 'google' THEN '1'
  WHEN 'facebook' THEN '2' WHEN 'baidu' THEN '3' ELSE SPLIT_INDEX(SPLIT_INDEX(url, 'channel_id=', 1), '&',
  0) END AS channel_id FROM bid WHERE REGEXP(url, '(&|^)channel_id=([^&]*)') OR lower(channel) IN ('apple',
  'google', 'facebook', 'baidu');

--:
SELECT * FROM (SELECT auction, bidder, price, channel, CASE WHEN lower(channel) = 'apple' THEN '0' WHEN
  lower(channel) = 'google' THEN '1' WHEN lower(channel) = 'facebook' THEN '2' WHEN lower(channel) = 'baidu'
  THEN '3' ELSE NULLIF(REGEXP_EXTRACT(url, '(&|^)channel_id=([^&]*)', 2), '') END AS channel_id FROM bid)
  WHERE channel_id IS NOT NULL;

--:
SELECT auction, bidder, price, channel, CASE WHEN lower(channel) = 'apple' THEN '0' WHEN lower(channel) =
  'google' THEN '1' WHEN lower(channel) = 'facebook' THEN '2' WHEN lower(channel) = 'baidu' THEN '3' ELSE
  parse_url(url, 'QUERY', 'channel_id') END AS channel_id FROM bid WHERE parse_url(url, 'QUERY',
  'channel_id') IS NOT NULL or lower(channel) in ('apple', 'google', 'facebook', 'baidu');
