// What an XSCL record bound: its variables with the numbers of their nodes, the documents in which they are, and
// the output document as a tree.
import { html } from "../dom.js";
import { BoundTrees } from "./bound_trees.js";

const MOST_NODES = 400;

/** A parsed document as nested objects; nothing of it becomes part of this page but as text. */
function outline(element, budget) {
  budget.left -= 1;
  const children = [];
  for (const child of element.childNodes) {
    if (budget.left <= 0) {
      children.push({ text: "…" });
      break;
    }
    if (child.nodeType === Node.ELEMENT_NODE) children.push(outline(child, budget));
    else if (child.nodeValue?.trim()) children.push({ text: child.nodeValue.trim() });
  }
  return { name: element.nodeName, attributes: [...element.attributes].map((one) => [one.name, one.value]), children };
}

function parsed(text) {
  const document = new DOMParser().parseFromString(text, "application/xml");
  if (document.getElementsByTagName("parsererror").length) return null;
  return outline(document.documentElement, { left: MOST_NODES });
}

function Element({ node, depth = 0 }) {
  if (node.text !== undefined) return html`<li><span class="xtext">${node.text}</span></li>`;
  const head = html`<span class="xname">${node.name}</span>${node.attributes.map(([name, value]) => html` <span class="xattr">@${name}=${value}</span>`)}`;
  const only = node.children.length === 1 && node.children[0].text !== undefined ? node.children[0].text : null;
  if (!node.children.length || only !== null) return html`<li>${head}${only !== null && html` <span class="xtext">${only}</span>`}</li>`;
  return html`<li><details open=${depth < 4}><summary>${head}</summary>
    <ul>${node.children.map((child) => html`<${Element} node=${child} depth=${depth + 1} />`)}</ul></details></li>`;
}

export function DocumentPicture({ row, query }) {
  const bound = Object.entries(row.bindings ?? {});
  const tree = typeof row.doc === "string" ? parsed(row.doc) : null;
  return html`<div class="document">
    <div class="bindings" role="list" aria-label="bindings">
      ${bound.map(([name, node]) => html`<span role="listitem" class="binding"><b>${name}</b> node ${String(node)}</span>`)}
    </div>
    <p class="faint">${row.left_ts !== null && row.left_ts !== undefined ? `left document at ${row.left_ts}, ` : ""}document at ${row.right_ts}</p>
    ${query && bound.length > 0 && html`<${BoundTrees} query=${query} row=${row} />`}
    ${tree ? html`<ul class="xtree" aria-label="document"><${Element} node=${tree} /></ul>` : row.doc && html`<pre>${row.doc}</pre>`}
  </div>`;
}
