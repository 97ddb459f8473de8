-- Feeds of films, people and news, made up, and standing searches over them. A search finds every
-- smallest way in which its words are connected: by credits, news, sequels and studios.

CREATE STREAM film (film BIGINT, title STRING, studio STRING, sequel_of BIGINT, ts TIMESTAMP)
  TIMESTAMP BY ts WINDOW INTERVAL '40' DAY FROM 'film.jsonl';
CREATE STREAM person (person BIGINT, name STRING, town STRING, ts TIMESTAMP)
  TIMESTAMP BY ts WINDOW INTERVAL '30' DAY FROM 'person.jsonl';
CREATE STREAM credit (film BIGINT, person BIGINT, role STRING, ts TIMESTAMP)
  TIMESTAMP BY ts WINDOW INTERVAL '40' DAY FROM 'credit.jsonl';
CREATE STREAM news (news BIGINT, headline STRING, film BIGINT, person BIGINT, ts TIMESTAMP)
  TIMESTAMP BY ts WINDOW INTERVAL '5' DAY FROM 'news.jsonl';
CREATE RELATION studio (name STRING, town STRING) FROM 'studio.jsonl';

CREATE JOIN credit.film = film.film;
CREATE JOIN credit.person = person.person;
CREATE JOIN news.film = film.film;
CREATE JOIN news.person = person.person;
CREATE JOIN film.sequel_of = film.film;
CREATE JOIN film.studio = studio.name;

-- Two people: they work on one film, or one news item or town connects them.
CREATE QUERY moreau_and_strand AS SEARCH 'moreau strand' MAX 5 TUPLES;
CREATE QUERY okafor_and_varga AS SEARCH 'okafor varga' MAX 5 TUPLES;
CREATE QUERY brandt_and_silva AS SEARCH 'brandt silva' MAX 5 TUPLES;
CREATE QUERY novak_and_quill AS SEARCH 'novak quill' MAX 5 TUPLES;
CREATE QUERY zoe_and_hugo AS SEARCH 'name:zoë name:hugo' MAX 5 TUPLES;
CREATE QUERY three_names AS SEARCH 'moreau lindqvist silva' MAX 7 TUPLES;

-- A person or a film in the news.
CREATE QUERY moreau_scandal AS SEARCH 'moreau scandal';
CREATE QUERY strand_scandal AS SEARCH 'strand scandal';
CREATE QUERY any_divorce AS SEARCH 'divorce name:mo*|name:st*';
CREATE QUERY harbour_prize AS SEARCH 'harbour prize';
CREATE QUERY silent_harbour AS SEARCH '"silent harbour" moreau|strand|okafor';
CREATE QUERY crimson_record AS SEARCH 'crimson "box office record"';
CREATE QUERY midnight_delayed AS SEARCH 'midnight delayed';
CREATE QUERY lawsuit_castellan AS SEARCH 'lawsuit castellan';
CREATE QUERY lawsuit_director AS SEARCH 'lawsuit role:director';
CREATE QUERY praised_writers AS SEARCH 'praised critics role:writer' MAX 3 TUPLES TOP 5 PER INTERVAL '7' DAY;

-- Towns: where people live, where studios are, where things happen.
CREATE QUERY lisbon_lagos AS SEARCH 'lisbon lagos' MAX 3 TUPLES TOP 3 PER INTERVAL '7' DAY;
CREATE QUERY kyoto_prize AS SEARCH 'kyoto prize' MAX 1 TUPLES;
CREATE QUERY storm_in_oslo AS SEARCH 'storm oslo northlight';
CREATE QUERY vienna_premiere AS SEARCH '"premiere in vienna" caravel' MAX 2 TUPLES;
CREATE QUERY home_town AS SEARCH 'town:porto headline:porto' MAX 2 TUPLES;

-- Sequels, studios, and titles by their beginning.
CREATE QUERY winter_sequels AS SEARCH 'winter rumour sequel' MAX 2 TUPLES;
CREATE QUERY sequels_of_silence AS SEARCH 'title:silent title:golden|title:last|title:winter' OVER (film) MAX 2 TUPLES;
CREATE QUERY meridian_directors AS SEARCH 'meridian director delacroix|ferreira';
CREATE QUERY blue_door_scandals AS SEARCH '"blue door" scandal' MAX 2 TUPLES;
CREATE QUERY hollow_words AS SEARCH 'hol* wit*|orc* rumour';
CREATE QUERY camera_prize AS SEARCH 'role:camera prize festival' MAX 3 TUPLES;
CREATE QUERY music_strand AS SEARCH 'role:music strand' MAX 2 TUPLES;
CREATE QUERY writer_and_director AS SEARCH 'role:writer role:director adeyemi' MAX 4 TUPLES;
CREATE QUERY petrov_premieres AS SEARCH 'petrov premiere' TOP 3 PER INTERVAL '14' DAY;
