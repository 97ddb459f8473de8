--:
SELECT auction, price FROM bid WHERE auction % 123 = 0;

--: unbounded
SELECT auction, price FROM bid WHERE auction IN (SELECT auction FROM bid WHERE MOD(auction, 123) = 0);

--:
SELECT auction, price FROM bid WHERE NOT auction % 123 <> 0;

--:
SELECT auction, price FROM bid WHERE pmod(auction, 123) = 0;

--:
SELECT auction, price FROM bid WHERE auction - auction DIV 123 * 123 = 0;

--:
--= SELECT auction, price FROM bid WHERE auction IN (1007, 1020, 2001, 2019, 2087)
SELECT auction, price FROM bid WHERE auction = 1007 OR auction = 1020 OR auction = 2001 OR auction = 2019
  OR auction = 2087;

--:
SELECT auction, price FROM bid WHERE MOD(auction, 123) IS NOT DISTINCT FROM 0;

--:
SELECT auction, price FROM bid WHERE mod(auction, 123) == 0;
