// All queries: searched, sorted and paged by the service, so that the page holds the few in sight.
import { html, useCallback, useEffect, useRef, useState } from "../dom.js";
import { Refusal } from "../parts/refusal.js";
import { State } from "../parts/state.js";
import { VirtualList } from "../parts/virtual_list.js";
import { Rates, usePolled } from "../polling.js";
import { get } from "../service.js";
import { count, number, rate } from "../words.js";

const PAGE = 200;
const ORDERS = [["newest", "newest first"], ["registered", "oldest first"], ["name", "by name"], ["outputs", "most records"], ["held", "most state"]];

export const queryHref = (name) => `#/queries/${encodeURIComponent(name)}`;

function pagePath({ text, state, order }, page) {
  const asked = new URLSearchParams({ order, offset: page * PAGE, limit: PAGE });
  if (text) asked.set("text", text);
  if (state) asked.set("state", state);
  return `v1/query-page?${asked}`;
}

export function QueriesPage() {
  const [choice, setChoice] = useState({ text: "", state: "", order: "newest" });
  const [pages, setPages] = useState({});
  const [counts, setCounts] = useState({ total: 0, matching: 0 });
  const [error, setError] = useState(null);
  const sight = useRef([0, 0]);
  const rates = useRef(new Rates());
  const asked = useRef(choice);
  asked.current = choice;

  const load = useCallback(async (page) => {
    const mine = asked.current;
    try {
      const answer = await get(pagePath(mine, page));
      if (asked.current !== mine) return; // somebody has asked for something else since
      for (const line of answer.queries) line.rate = rates.current.of(line.query, line.outputs);
      setPages((known) => ({ ...known, [page]: answer.queries }));
      setCounts({ total: answer.total, matching: answer.matching });
      setError(null);
    } catch (refused) {
      setError(refused);
    }
  }, []);
  const inSight = () => {
    const wanted = [];
    for (let page = Math.floor(sight.current[0] / PAGE); page * PAGE < Math.max(sight.current[1], 1); page++) wanted.push(page);
    return wanted;
  };
  useEffect(() => {
    setPages({});
    const timer = setTimeout(() => load(0), 120); // while somebody types
    return () => clearTimeout(timer);
  }, [choice]);
  usePolled(() => Promise.all(inSight().map(load)), 2000, [choice]);
  const { answer: status } = usePolled(() => get("v1/status"), 2000, []);

  const at = (i) => pages[Math.floor(i / PAGE)]?.[i % PAGE];
  const onSight = (first, last) => {
    sight.current = [first, last];
    for (const page of inSight()) if (!(page in pages)) load(page);
  };
  const change = (key) => (event) => setChoice({ ...choice, [key]: event.target.value });
  const row = (i) => {
    const line = at(i);
    if (!line) return html`<span role="gridcell" class="faint">...</span>`;
    return html`<span role="gridcell"><a tabindex="-1" href=${queryHref(line.query)}>${line.query}</a></span>
      <span role="gridcell"><${State} state=${line.state} /></span>
      <span role="gridcell" class="num">${number(line.outputs)}</span>
      <span role="gridcell" class="num">${rate(line.rate)}</span>
      <span role="gridcell" class="num">${number(line.held)}</span>
      <span role="gridcell" class="num">${number(line.entry)}</span>`;
  };
  return html`<section class="page fill">
    <div class="titleline">
      <h1>Queries</h1>
      ${status && html`<p class="summary">
        ${count(status.queries.running, "query", "queries")} running,
        ${" "}${number(status.queries.paused)} paused, ${number(status.queries.failed)} failed;
        ${" "}${count(status.nodes, "node")}; ${rate(status.rows_per_second)} in</p>`}
      <a class="button primary" href="#/editor">New query</a>
    </div>
    ${status?.pipeline_trouble && html`<p class="refusal" role="alert">${status.pipeline_trouble}</p>`}
    <form class="filters" onSubmit=${(event) => event.preventDefault()}>
      <label>Search <input type="search" placeholder="in names and texts" value=${choice.text} onInput=${change("text")} /></label>
      <label>State <select value=${choice.state} onChange=${change("state")}>
        <option value="">any</option><option>running</option><option>paused</option><option>failed</option>
      </select></label>
      <label>Order <select value=${choice.order} onChange=${change("order")}>
        ${ORDERS.map(([key, title]) => html`<option value=${key}>${title}</option>`)}
      </select></label>
      <span class="faint" role="status">${counts.matching === counts.total ? count(counts.total, "query", "queries") : `${number(counts.matching)} of ${number(counts.total)}`}</span>
    </form>
    <${Refusal} error=${error} />
    ${counts.total === 0 && !error && html`<p class="faint">Nothing is registered yet. <a href="#/editor">Write a script</a>.</p>`}
    <div class="queries">
      <${VirtualList} key=${JSON.stringify(choice)} label="Queries" total=${counts.matching} row=${row} onSight=${onSight}
        columns=${["query", "state", "records", "rate", "held", "since entry"]}
        onOpen=${(i) => at(i) && (location.hash = queryHref(at(i).query))} />
    </div>
  </section>`;
}
