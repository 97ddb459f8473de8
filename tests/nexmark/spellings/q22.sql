--:
SELECT auction, bidder, price, channel, SPLIT_INDEX(url, '/', 3) as dir1, SPLIT_INDEX(url, '/', 4) as
  dir2, SPLIT_INDEX(url, '/', 5) as dir3 FROM bid;

--:
SELECT auction, bidder, price, channel, split_part(url, '/', 4) as dir1, split_part(url, '/', 5) as dir2,
  split_part(url, '/', 6) as dir3 FROM bid;

--:
SELECT auction, bidder, price, channel, element_at(split(url, '/'), 4) as dir1, element_at(split(url,
  '/'), 5) as dir2, element_at(split(url, '/'), 6) as dir3 FROM bid;

--:
SELECT auction, bidder, price, channel, regexp_extract(url, '^[^/]*//[^/]*/([^/]*)', 1) as dir1,
  regexp_extract(url, '^([^/]*/){4}([^/]*)', 2) as dir2, substring_index(substring_index(url, '/', 6), '/',
  -1) as dir3 FROM bid;

--:
WITH parts AS (SELECT *, split(url, '/') AS p FROM bid) SELECT auction, bidder, price, channel, p[3] AS
  dir1, p[4] AS dir2, p[5] AS dir3 FROM parts;
