// One query: its text, what it does in the network, what it holds, and its records as they come.
import { html, useEffect, useRef, useState } from "../dom.js";
import { RateChart, noted } from "../parts/rate_chart.js";
import { RecordList } from "../parts/record_list.js";
import { Refusal } from "../parts/refusal.js";
import { State } from "../parts/state.js";
import { usePolled } from "../polling.js";
import { get, post, queryPath, records, remove } from "../service.js";
import { number } from "../words.js";

const MOST_RECORDS = 200;
const WAIT_SECONDS = 20;
const MOST_LETTERS = 5; // of each stream
const MOST_STREAMS = 8;

/** The last records of a query, newest first; those that come are waited for. */
function useRecords(name, running) {
  const [state, setState] = useState({ records: [], error: null });
  useEffect(() => {
    const stop = new AbortController();
    let next = "recent", numbered = 0;
    const follow = async () => {
      while (!stop.signal.aborted && running) {
        try {
          const answer = await records(name, next, WAIT_SECONDS, stop.signal);
          next = answer.next;
          const fresh = answer.records.slice(-MOST_RECORDS).map((one) => ({ ...one, number: numbered++ })).reverse();
          if (fresh.length) setState((before) => ({ records: [...fresh, ...before.records].slice(0, MOST_RECORDS), error: null }));
        } catch (error) {
          if (stop.signal.aborted) return;
          setState((before) => ({ ...before, error }));
          await new Promise((done) => setTimeout(done, 2000));
        }
      }
    };
    follow();
    return () => stop.abort();
  }, [name, running]);
  return state;
}

function Figures({ query }) {
  const held = Object.entries(query.state_rows);
  const waits = Object.entries(query.waits_for);
  return html`<dl class="figures">
    <div><dt>records</dt><dd>${number(query.outputs)}</dd></div>
    ${query.importance !== null && html`<div><dt>importance</dt><dd>${number(query.importance)}</dd></div>`}
    ${held.map(([stream, rows]) => html`<div><dt>rows of ${stream}</dt><dd>${number(rows)}</dd></div>`)}
    <div><dt>groups</dt><dd>${number(query.group_rows)}</dd></div>
    <div><dt>punctuations</dt><dd>${number(query.punctuations)}</dd></div>
    ${query.shed > 0 && html`<div><dt>shed</dt><dd>${number(query.shed)}</dd></div>`}
    ${query.exact_share !== null && html`<div><dt>of the exact answer</dt><dd>${(query.exact_share * 100).toFixed(1)} %</dd></div>`}
    ${query.owner && html`<div><dt>owner</dt><dd>${query.owner}</dd></div>`}
    <div><dt>since entry</dt><dd>${number(query.since.entry)}</dd></div>
    ${waits.map(([stream, why]) => html`<div class="bad"><dt>waits for ${stream}</dt><dd>${why}</dd></div>`)}
  </dl>`;
}

function Story({ name, version }) {
  const [story, setStory] = useState(null);
  const [related, setRelated] = useState([]);
  const [error, setError] = useState(null);
  useEffect(() => {
    get(queryPath(name, "/story")).then(setStory, setError);
    get(queryPath(name, "/related")).then((answer) => setRelated(answer.related), () => setRelated([]));
  }, [name, version]);
  if (error) return html`<${Refusal} error=${error} />`;
  if (!story) return html`<p class="faint" role="status">Reading the network ...</p>`;
  return html`<div class="story">
    <p>${story.headline}</p>
    ${related.length > 0 && html`<ul>${related.map((one) => html`<li>${one.text}</li>`)}</ul>`}
    ${story.inferred.length > 0 && html`<p>Inferred from its conditions:</p><ul>${story.inferred.map((text) => html`<li>${text}</li>`)}</ul>`}
    <ol class="chapters">${story.chapters.map((chapter) => html`<li key=${chapter.node}>
      <details><summary><b>${chapter.kind}</b> <a class="faint" href="#/network/${chapter.node}">#${chapter.node}</a> ${chapter.text}</summary>
      <ul>${chapter.says.map((text) => html`<li>${text}</li>`)}</ul></details></li>`)}</ol>
    ${story.holds.length > 0 && html`<p>What it holds:</p><ul>${story.holds.map((text) => html`<li>${text}</li>`)}</ul>`}
  </div>`;
}

/** The lines of its streams that were not let in last, and what was noted of the query itself. */
function Letters({ name, streams }) {
  const { answer, error } = usePolled(async (signal) => {
    const pages = await Promise.all([
      get("v1/latest-dead-letters?limit=200", signal),
      ...streams.slice(0, MOST_STREAMS).map((stream) => get(`v1/latest-dead-letters?stream=${encodeURIComponent(stream)}&limit=${MOST_LETTERS}`, signal)),
    ]);
    const own = pages[0].letters.filter((letter) => letter.query === name);
    return [...own, ...pages.slice(1).flatMap((page) => page.letters)];
  }, 5000, [name, streams.join()]);
  if (error) return html`<${Refusal} error=${error} />`;
  if (!answer?.length) return html`<p class="faint">No line of its streams was refused.</p>`;
  return html`<ul class="letters">${answer.map((letter) => html`<li key=${letter.position}><b>${letter.stream ?? letter.query}</b> <span class="bad">${letter.reason}</span>
    ${letter.record !== undefined && html` <code>${letter.record}</code>`}</li>`)}</ul>
    <p><a href="#/letters">All dead letters</a></p>`;
}

function Limits({ name, state }) {
  const [story, setStory] = useState(null);
  useEffect(() => {
    get(queryPath(name, "/story")).then(setStory, () => {});
  }, [name, state]);
  return html`<ul class="limits">${(story?.limits ?? []).map((text) => html`<li>${text}</li>`)}</ul>`;
}

function Actions({ query, onDone }) {
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(false);
  const [asking, setAsking] = useState(false);
  const carry = (call) => async () => {
    setBusy(true);
    setError(null);
    try {
      await call();
      onDone();
    } catch (refused) {
      setError(refused);
    }
    setBusy(false);
  };
  const drop = async () => {
    await remove(queryPath(query.query));
    location.hash = "#/queries";
  };
  return html`<div class="actions">
    ${query.state === "running"
      ? html`<button disabled=${busy} onClick=${carry(() => post(queryPath(query.query, "/pause")))}>Pause</button>`
      : html`<button disabled=${busy} onClick=${carry(() => post(queryPath(query.query, "/resume")))}>Resume</button>`}
    <a class="button" href="#/editor/${encodeURIComponent(query.query)}">Edit</a>
    <a class="button" href="#/network?query=${encodeURIComponent(query.query)}">In the network</a>
    ${asking
      ? html`<span role="group" aria-label="drop">Drop it for good? <button class="danger" disabled=${busy} onClick=${carry(drop)}>Drop</button>
          <button onClick=${() => setAsking(false)}>Keep</button></span>`
      : html`<button class="danger" onClick=${() => setAsking(true)}>Drop ...</button>`}
    <${Refusal} error=${error} />
  </div>`;
}

export function QueryPage({ name }) {
  const [turn, setTurn] = useState(0);
  const { answer: query, error } = usePolled((signal) => get(queryPath(name), signal), 2000, [name, turn]);
  const looks = useRef([]);
  if (query && looks.current.seen !== query) {
    looks.current = noted(looks.current, query.outputs, performance.now());
    looks.current.seen = query;
  }
  const followed = useRecords(name, query !== null);
  if (error && (!query || error.status === 404)) return html`<section class="page"><h1>${name}</h1><${Refusal} error=${error} /><p><a href="#/queries">All queries</a></p></section>`;
  if (!query) return html`<p class="center" role="status">Asking ...</p>`;
  return html`<section class="page">
    <p class="crumbs"><a href="#/queries">Queries</a> /</p>
    <div class="titleline"><h1>${query.query}</h1><${State} state=${query.state} /></div>
    ${query.failure && html`<p class="refusal" role="alert">It ${query.state === "failed" ? "failed" : "was paused"} at entry ${query.failure.entry}: ${query.failure.reason}</p>`}
    <${Actions} query=${query} onDone=${() => setTurn(turn + 1)} />
    <div class="columns">
      <div>
        <h2>Text</h2><pre class="text" tabindex="0">${query.text}</pre>
        <h2>What it does</h2><${Story} name=${query.query} version=${query.state} />
      </div>
      <div>
        <h2>Rate</h2><${RateChart} looks=${looks.current} label="records in a second" />
        <h2>State</h2><${Figures} query=${query} />
        <h2>Limits</h2><${Limits} name=${query.query} state=${query.state} />
        <h2>Dead letters</h2><${Letters} name=${query.query} streams=${Object.keys(query.since.streams)} />
      </div>
    </div>
    <h2>Records</h2>
    <${Refusal} error=${followed.error} />
    <div aria-live="off"><${RecordList} records=${followed.records} query=${name} /></div>
  </section>`;
}
