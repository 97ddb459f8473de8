// Dead letters: lines that were not let in. They are corrected and sent again, as new arrivals.
import { html, useEffect, useState } from "../dom.js";
import { Refusal } from "../parts/refusal.js";
import { get, push } from "../service.js";
import { count } from "../words.js";

const PAGE = 50;

const place = (letter) =>
  letter.file !== undefined ? `${letter.file}${letter.line !== undefined ? `:${letter.line}` : ""}`
    : letter.topic !== undefined ? `${letter.topic}/${letter.partition} at ${letter.offset}` : letter.query !== undefined ? `query ${letter.query}` : "";

/** Why a letter cannot be sent from here; null if it can. */
function obstacle(letter, tables) {
  if (letter.stream === undefined) return "It is a notice, not a line of a stream.";
  const table = tables.get(letter.stream.toLowerCase());
  if (!table) return `Stream ${letter.stream} is gone.`;
  if (!table.pushed) return `Stream ${letter.stream} has a source of its own: correct the line there. Records are sent to streams FROM 'push:' alone.`;
  return null;
}

function Letter({ letter, tables }) {
  const [text, setText] = useState(letter.record ?? "");
  const [editing, setEditing] = useState(false);
  const [error, setError] = useState(null);
  const [sent, setSent] = useState(false);
  const why = obstacle(letter, tables);
  const send = async (event) => {
    event.preventDefault();
    setError(null);
    try {
      JSON.parse(text);
    } catch (wrong) {
      return setError({ message: `this is no JSON: ${wrong.message}` });
    }
    try {
      await push(letter.stream, `${text.trim().replaceAll("\n", " ")}\n`); // a line of JSON has no line breaks but between its parts
      setSent(true);
      setEditing(false);
    } catch (refused) {
      setError(refused);
    }
  };
  return html`<li class="card letter">
    <p><b>${letter.stream ?? letter.query ?? ""}</b> <span class="bad">${letter.reason}</span> <span class="faint">${place(letter)}</span></p>
    ${editing
      ? html`<form onSubmit=${send}><label>Line <textarea class="mono" rows="3" value=${text} onInput=${(event) => setText(event.target.value)}></textarea></label>
          <div class="actions"><button class="primary">Send</button><button type="button" onClick=${() => setEditing(false)}>Leave it</button>
          <span class="faint">It arrives now: if its time is late by now, it comes back here.</span></div></form>`
      : letter.record !== undefined && html`<pre class="text">${text}</pre>`}
    ${!editing && letter.record !== undefined && (why ? html`<p class="faint">${why}</p>` : html`<button onClick=${() => setEditing(true)}>Correct and send again</button>`)}
    ${sent && html`<p role="status" class="good">Sent as a new arrival. If it is refused again, it is among the newest letters.</p>`}
    <${Refusal} error=${error} />
  </li>`;
}

export function LettersPage({ name }) {
  const [letters, setLetters] = useState([]);
  const [next, setNext] = useState(null); // where older ones are
  const [more, setMore] = useState(false);
  const [tables, setTables] = useState(new Map());
  const [error, setError] = useState(null);
  const load = async (before) => {
    const asked = new URLSearchParams({ limit: PAGE });
    if (name !== null) asked.set("stream", name);
    if (before !== null) asked.set("before", before);
    try {
      const page = await get(`v1/latest-dead-letters?${asked}`);
      setLetters((known) => (before === null ? page.letters : [...known, ...page.letters]));
      setNext(page.next);
      setMore(page.more);
      setError(null);
    } catch (refused) {
      setError(refused);
    }
  };
  useEffect(() => {
    load(null);
    get("v1/schema").then((schema) => setTables(new Map(schema.tables.map((table) => [table.name.toLowerCase(), table]))), setError);
  }, [name]);
  return html`<section class="page">
    <div class="titleline"><h1>Dead letters${name !== null ? ` of ${name}` : ""}</h1>
      <button onClick=${() => load(null)}>Newest</button>
      ${name !== null && html`<a href="#/letters">of all streams</a>`}</div>
    <${Refusal} error=${error} />
    ${!letters.length && !error && html`<p class="faint">${more ? "None among the newest." : "There are none."}</p>`}
    <ol class="letters" aria-label="dead letters">${letters.map((letter) => html`<${Letter} key=${letter.position} letter=${letter} tables=${tables} />`)}</ol>
    ${more && html`<button onClick=${() => load(next)}>Older</button> <span class="faint">${count(letters.length, "letter")} shown</span>`}
  </section>`;
}
