// Cures of a refused query as changes of the script. The changed script is checked again: what does not help is seen.

const NAME = (name) => `(?:"${escaped(name)}"|\`${escaped(name)}\`|${escaped(name)})`;
const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
const LENGTH = "100"; // of a window that somebody has to think about; it is selected

/** The script with comments and strings blanked out, place for place, so that words in them are not seen. */
export const bare = (text) =>
  text.replace(/--[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'|\$\$[\s\S]*?\$\$/g, (part) => " ".repeat(part.length));

/** Where the statement ends in which a place is. */
function statementEnd(text, from) {
  const end = bare(text).indexOf(";", from);
  return end < 0 ? text.length : end;
}

/** Where to add to the declaration of a stream: before its FROM or USING; null if the script does not declare it. */
function declarationPlace(text, stream) {
  const head = new RegExp(`\\bCREATE\\s+STREAM\\s+${NAME(stream)}\\s*\\(`, "i").exec(bare(text));
  if (!head) return null;
  const statement = bare(text).slice(head.index, statementEnd(text, head.index));
  const source = /\s(?:FROM|USING)\b/i.exec(statement);
  return source ? head.index + source.index : null;
}

/** Where the query reads a stream: behind its name and alias in FROM; null if it is not seen. */
function itemPlace(text, query, stream) {
  const start = queryHead(text, query);
  if (!start) return null;
  const statement = bare(text).slice(start.end, statementEnd(text, start.end));
  const item = new RegExp(`(?:\\bFROM|\\bJOIN|,)\\s+${NAME(stream)}\\b(?:\\s+(?:AS\\s+)?(?!WHERE\\b|JOIN\\b|ON\\b|GROUP\\b|LEFT\\b|INNER\\b|WINDOW\\b|UNION\\b|EXCEPT\\b|ORDER\\b|HAVING\\b)[A-Za-z_]\\w*)?`, "i").exec(statement);
  return item ? start.end + item.index + item[0].length : null;
}

function queryHead(text, query) {
  const head = new RegExp(`\\bCREATE\\s+QUERY\\s+${NAME(query)}`, "i").exec(bare(text));
  return head && { start: head.index, end: head.index + head[0].length };
}

function withOption(text, query, option) {
  const head = queryHead(text, query);
  if (!head) return null;
  const given = /^\s+WITH\s*\(/i.exec(bare(text).slice(head.end));
  const place = given ? head.end + given[0].length : head.end;
  const addition = given ? `${option}, ` : ` WITH (${option})`;
  return { text: text.slice(0, place) + addition + text.slice(place) };
}

function added(text, query, addition) {
  if (addition.kind === "unbounded") return withOption(text, query, "unbounded = true");
  const declared = declarationPlace(text, addition.stream);
  if (addition.kind === "punctuation") {
    if (declared === null) return null;
    return { text: `${text.slice(0, declared)} PUNCTUATED ON (${addition.columns.join(", ")})${text.slice(declared)}` };
  }
  const place = declared ?? itemPlace(text, query, addition.stream);
  if (place === null) return null;
  const anchor = place + " WINDOW ".length;
  return { text: `${text.slice(0, place)} WINDOW ${LENGTH}${text.slice(place)}`, selection: { anchor, head: anchor + LENGTH.length } };
}

/** The script with a cure applied, and what to select in it; null if it is to be applied elsewhere. */
export function cured(text, query, cure) {
  let result = { text };
  for (const addition of cure.additions) {
    const next = added(result.text, query, addition);
    if (!next) return null;
    result = next;
  }
  return result;
}
