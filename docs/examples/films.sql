CREATE STREAM director (did BIGINT, name STRING, ts BIGINT) TIMESTAMP BY ts WINDOW 100
  FROM 'films_director.jsonl';
CREATE STREAM movie (mid BIGINT, title STRING, did BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 50
  FROM 'films_movie.jsonl';
CREATE STREAM plays (mid BIGINT, aid BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 50
  FROM 'films_plays.jsonl';
CREATE STREAM actor (aid BIGINT, name STRING, ts BIGINT) TIMESTAMP BY ts WINDOW 100
  FROM 'films_actor.jsonl';
CREATE JOIN movie.did = director.did;
CREATE JOIN movie.mid = plays.mid;
CREATE JOIN plays.aid = actor.aid;
CREATE QUERY together AS SEARCH 'tarantino travolta';
CREATE QUERY co_stars AS SEARCH 'name:thur* name:travolta|name:jackson' OVER (movie, plays, actor) MAX 5 TUPLES;
