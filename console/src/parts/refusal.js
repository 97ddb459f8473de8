// A refusal of the service, for a person: what is wrong, where, and what to do.
import { html } from "../dom.js";

export function Refusal({ error }) {
  if (!error) return null;
  return html`<div class="refusal" role="alert">
    <strong>${error.message}</strong>
    ${error.where && html`<span class="where"> at line ${error.where.line}, column ${error.where.column}</span>`}
    ${error.hint && html`<p>${error.hint}</p>`}
  </div>`;
}
