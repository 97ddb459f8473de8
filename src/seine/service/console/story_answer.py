"""The story of a registered query: what it uses, with whom it shares that and why, and what it keeps."""

from __future__ import annotations

from seine.algebra.plan import Query
from seine.algebra.plan_text import column_name
from seine.errors import printable
from seine.frontends.script.script import Declarations
from seine.network.network import Network
from seine.network.show.labels import Labels
from seine.network.show.query_story import Story
from seine.safety.verdict_story import safety_lines
from seine.service.console.console_answers import ChapterAnswer, StoryAnswer


def story_answer(network: Network, declared: Declarations, name: str, limits: list[str]) -> StoryAnswer:
    """The story of a query, as of a network; one that is paused is not in it, and has none."""
    query = declared.queries[name.lower()]
    answer: StoryAnswer = {
        "query": query.name,
        "statement": statement_of(query),
        "headline": "It is in no network now: paused, or failed.",
        "inferred": [],
        "chapters": [],
        "holds": safety_lines(query.plan, network.joined.get(query.name, ())),
        "limits": limits,
    }
    if query.name not in network.queries:
        return answer
    story = Story(Labels(network, declared.streams, declared.relations), query.name)
    answer["headline"] = printable(story.headline())
    answer["inferred"] = [printable(text) for text in story.inferred()]
    answer["chapters"] = [
        ChapterAnswer(
            node=chapter.node.id,
            kind=chapter.node.kind,
            stage=chapter.node.stage,
            text=printable(chapter.text),
            says=[printable(text) for text in chapter.says],
        )
        for chapter in story.chapters()
    ]
    return answer


def statement_of(query: Query) -> str:
    """The statement that creates a query, to be changed and registered again.

    >>> from seine.algebra.plan import Plan
    >>> print(statement_of(Query("big one", Plan(), (("unbounded", True),), "SELECT a FROM s")), end="")
    CREATE QUERY "big one" WITH (unbounded = true) AS
    SELECT a FROM s;
    """
    options = ", ".join(f"{name} = {_option(value)}" for name, value in query.options)
    given = f" WITH ({options})" if options else ""
    return f"CREATE QUERY {column_name(query.name)}{given} AS\n{query.text.rstrip()};\n"


def _option(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else "'" + str(value).replace("'", "''") + "'"
