--: unbounded
SELECT P.name, P.city, P.state, A.id FROM auction AS A INNER JOIN person AS P on A.seller = P.id WHERE
  A.category = 10 and (P.state = 'OR' OR P.state = 'ID' OR P.state = 'CA');

--: unbounded
SELECT name, city, state, a.id FROM person p JOIN auction a ON p.id = a.seller AND category = 10 WHERE
  state IN ('OR', 'ID', 'CA');

--: unbounded
WITH sellers AS (SELECT id, name, city, state FROM person WHERE state IN ('OR', 'ID', 'CA')), items AS
  (SELECT id, seller FROM auction WHERE category = 10) SELECT s.name, s.city, s.state, i.id FROM sellers s,
  items i WHERE i.seller = s.id;

--: window
SELECT p.name, p.city, p.state, a.id FROM auction a JOIN person p ON a.seller = p.id WHERE a.category = 10
  AND p.state RLIKE '^(OR|ID|CA)$';

--: flat unbounded
SELECT p.name, p.city, p.state, a.id FROM auction a JOIN person p ON a.seller = p.id WHERE a.category = 10
  AND p.state IN ('OR', 'ID', 'CA');

--: flat unbounded
SELECT p.person_name, p.person_city, p.person_state, a.auction_id FROM events a JOIN events p ON
  a.auction_seller = p.person_id WHERE a.auction_category = 10 AND p.person_state IN ('OR', 'ID', 'CA');

--:
SELECT p.name, p.city, p.state, a.id FROM auction a WINDOW INTERVAL '1' HOUR JOIN person p WINDOW INTERVAL
  '1' HOUR ON a.seller = p.id WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA');
