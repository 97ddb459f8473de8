// Streams and sinks: how far each is, what it lost, and why it waits.
import { html, useRef, useState } from "../dom.js";
import { Refusal } from "../parts/refusal.js";
import { State } from "../parts/state.js";
import { Rates, usePolled } from "../polling.js";
import { get } from "../service.js";
import { bytes, number, rate, shown } from "../words.js";

export const lettersHref = (stream) => `#/letters/${encodeURIComponent(stream)}`;

function Samples({ stream }) {
  const { answer, error } = usePolled(() => get(`v1/latest-dead-letters?limit=5&stream=${encodeURIComponent(stream)}`), 5000, [stream]);
  if (error) return html`<${Refusal} error=${error} />`;
  if (!answer) return html`<p class="faint">...</p>`;
  return html`<ul class="samples">${answer.letters.map((letter) => html`<li key=${letter.position}><span class="bad">${letter.reason}</span>
    ${letter.record !== undefined && html`<pre>${letter.record}</pre>`}</li>`)}</ul>
    <a href=${lettersHref(stream)}>All of them, to correct and send again</a>`;
}

function StreamRow({ stream, table, arriving }) {
  const [open, setOpen] = useState(false);
  const { refused } = stream;
  return html`<tr>
      <th scope="row">${stream.stream}${table && html`<div class="faint small">${table.columns.map((one) => `${one.name} ${one.type}`).join(", ")}</div>`}</th>
      <td><${State} state=${stream.state} />${stream.reason && html`<div class="bad">${stream.reason}</div>`}
        ${stream.holds_back && html`<div class="idle">holds back ${stream.holds_back.streams.join(", ")} since ${stream.holds_back.since}</div>`}</td>
      <td class="num">${number(stream.position.arrivals)}<div class="faint small">${rate(arriving)}</div></td>
      <td class="num">${bytes(stream.lag.bytes)}${stream.lag.rows !== null && html`<div class="faint small">${number(stream.lag.rows)} rows</div>`}</td>
      <td class="num">${shown(stream.watermark)}</td>
      <td class="num">${number(refused.late)}</td>
      <td class="num">${refused.dead ? html`<button class="link" aria-expanded=${open} onClick=${() => setOpen(!open)} aria-label=${`${refused.dead} dead letters of ${stream.stream}`}>${number(refused.dead)}</button>` : 0}</td>
    </tr>
    ${open && html`<tr><td colspan="7"><${Samples} stream=${stream.stream} /></td></tr>`}`;
}

function Sinks({ sinks }) {
  if (!sinks.length) return html`<p class="faint">There is no sink.</p>`;
  return html`<div class="scroll card"><table>
    <thead><tr>${["sink", "state", "of", "to", "records", "lag", "given up"].map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
    <tbody>${sinks.map((sink) => html`<tr key=${sink.sink}><th scope="row">${sink.sink}</th>
      <td><${State} state=${sink.state} />${sink.reason && html`<div class="bad">${sink.reason} since ${sink.since}</div>`}</td>
      <td>${sink.queries.join(", ")}</td><td>${sink.target} <span class="faint">${sink.format}</span></td>
      <td class="num">${number(sink.records)}</td>
      <td class="num">${bytes(sink.lag)}${sink.waiting && html`<div class="faint small">${number(sink.waiting.batches)} batches since ${sink.waiting.since}</div>`}</td>
      <td class="num">${number(sink.undelivered)}</td></tr>`)}</tbody></table></div>`;
}

export function StreamsPage() {
  const { answer, error } = usePolled(async () => {
    const [streams, schema, status] = await Promise.all([get("v1/streams"), get("v1/schema"), get("v1/status")]);
    return { streams, schema, sinks: status.sinks };
  }, 2000, []);
  const rates = useRef(new Rates());
  if (!answer) return html`<section class="page"><h1>Streams</h1><${Refusal} error=${error} /></section>`;
  const tables = new Map(answer.schema.tables.map((table) => [table.name, table]));
  return html`<section class="page">
    <h1>Streams</h1>
    <${Refusal} error=${error} />
    ${answer.streams.length ? html`<div class="scroll card"><table class="streams">
      <thead><tr>${["stream", "state", "tuples", "lag", "watermark", "late", "dead"].map((name, i) => html`<th scope="col" class=${i > 1 ? "num" : ""}>${name}</th>`)}</tr></thead>
      <tbody>${answer.streams.map((stream) => html`<${StreamRow} key=${stream.stream} stream=${stream} table=${tables.get(stream.stream)}
        arriving=${rates.current.of(stream.stream, stream.position.arrivals)} />`)}</tbody>
    </table></div>` : html`<p class="faint">No stream is declared.</p>`}
    <h2>Sinks</h2>
    <${Sinks} sinks=${answer.sinks} />
  </section>`;
}
