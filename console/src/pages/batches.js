// Micro-batches: how long each took, where the time went, and what waits behind them.
import { html } from "../dom.js";
import { Refusal } from "../parts/refusal.js";
import { usePolled } from "../polling.js";
import { get } from "../service.js";
import { bytes, count, number, seconds } from "../words.js";

const MOST_SHOWN = 60;
const stageName = (stage) => (stage === 0 ? "reading" : `stage ${stage}`);

/** A bar of a batch: its stages in their share, and the rest: planning, waiting, delivering. */
function Bar({ batch, longest }) {
  const stages = batch.stages.reduce((sum, one) => sum + one.seconds, 0);
  const whole = Math.max(batch.seconds, stages, 1e-9);
  const words = [...batch.stages.map((one) => `${stageName(one.stage)} ${seconds(one.seconds)}`), `the rest ${seconds(Math.max(batch.seconds - stages, 0))}`].join(", ");
  let x = 0;
  return html`<svg class="stagebar" viewBox="0 0 300 14" role="img" aria-label=${words} preserveAspectRatio="none"><title>${words}</title>
    <rect class="rest" width=${(300 * whole) / longest} height="14" />
    ${batch.stages.map((one) => {
      const width = (300 * one.seconds) / longest;
      const at = x;
      x += width;
      return html`<rect class=${`s${one.stage % 6}`} x=${at} width=${width} height="14" />`;
    })}
  </svg>`;
}

export function BatchesPage() {
  const { answer, error } = usePolled(() => get("v1/batches"), 2000, []);
  const batches = (answer?.batches ?? []).slice(0, MOST_SHOWN);
  const longest = Math.max(...batches.map((batch) => Math.max(batch.seconds, batch.stages.reduce((sum, one) => sum + one.seconds, 0))), 1e-9);
  const stages = [...new Set(batches.flatMap((batch) => batch.stages.map((one) => one.stage)))].sort((a, b) => a - b);
  return html`<section class="page">
    <div class="titleline"><h1>Batches</h1>
      ${answer && html`<p class="summary" role="status">${count(answer.waiting, "entry", "entries")} waiting, ${bytes(answer.lag_bytes)} not admitted yet</p>`}</div>
    <${Refusal} error=${error} />
    ${batches.length > 0 && html`<p class="legend">${stages.map((stage) => html`<span><i class=${`s${stage % 6}`}></i>${stageName(stage)}</span>`)}<span><i class="rest"></i>the rest: planning, waiting, delivering</span></p>`}
    ${batches.length ? html`<div class="scroll card"><table>
      <thead><tr>${["entry", "delivered", "took", "stages", "rows in", "records", "dead"].map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
      <tbody>${batches.map((batch) => html`<tr key=${batch.entry}><th scope="row">${number(batch.entry)}</th>
        <td>${new Date(batch.at).toLocaleTimeString()}</td><td class="num">${seconds(batch.seconds)}</td>
        <td><${Bar} batch=${batch} longest=${longest} /></td>
        <td class="num">${number(batch.input_rows)}</td><td class="num">${number(batch.output_rows)}</td><td class="num">${number(batch.dead_letters)}</td></tr>`)}</tbody>
    </table></div>` : answer && html`<p class="faint">None since the service was started.</p>`}
  </section>`;
}
