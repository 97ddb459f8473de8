// Records as they come: a table of rows; trees of searches and documents of subscriptions are drawn.
import { html } from "../dom.js";
import { ExactNumber } from "../exact_json.js";
import { shown } from "../words.js";
import { DocumentPicture } from "./document_picture.js";
import { TreePicture } from "./tree_picture.js";

const MOST_DRAWN = 20;

const life = (record) => `${record.t_start}${record.t_end === null ? " on" : ` to ${record.t_end}`}`;
const kindOf = (record) => (Array.isArray(record?.row?.tuples) ? "tree" : record?.row?.bindings ? "document" : "row");

function Drawn({ records, kind, query }) {
  const Picture = kind === "tree" ? TreePicture : DocumentPicture;
  return html`<ol class="drawn">
    ${records.slice(0, MOST_DRAWN).map((record) => html`<li key=${record.number}>
      <p><${Op} op=${record.op} /> <span class="faint">${life(record)}</span></p>
      <div class="scroll"><${Picture} row=${record.row} query=${query} /></div>
    </li>`)}
    ${records.length > MOST_DRAWN && html`<li class="faint">${records.length - MOST_DRAWN} older ones are not drawn</li>`}
  </ol>`;
}

const isNumber = (value) => typeof value === "number" || value instanceof ExactNumber;

const Op = ({ op }) => html`<span class=${op === "+" ? "op plus" : "op minus"} aria-label=${op === "+" ? "added" : "taken back"}>${op}</span>`;

/** `records` has the newest first, each with a `number` of its own; `query` is the name of one that is registered. */
export function RecordList({ records, query }) {
  if (!records.length) return html`<p class="faint">No records yet.</p>`;
  const kind = kindOf(records[0]);
  if (kind !== "row") return html`<${Drawn} records=${records} kind=${kind} query=${query} />`;
  const columns = [...new Set(records.flatMap((record) => Object.keys(record.row)))];
  return html`<div class="scroll records" tabindex="0" role="region" aria-label="records"><table>
    <thead><tr><th scope="col">op</th><th scope="col">life</th>${columns.map((name) => html`<th scope="col" class=${isNumber(records[0].row[name]) ? "num" : ""}>${name}</th>`)}</tr></thead>
    <tbody>${records.map((record) => html`<tr key=${record.number}>
      <td><${Op} op=${record.op} /></td><td class="faint">${life(record)}</td>
      ${columns.map((name) => html`<td class=${isNumber(record.row[name]) ? "num" : ""}>${shown(record.row[name])}</td>`)}
    </tr>`)}</tbody>
  </table></div>`;
}
