// Writing a script: its verdict as one types, cures as buttons, what it would share; then it is registered.
import { html, useEffect, useRef, useState } from "../dom.js";
import { PunctuationGraph } from "../parts/punctuation_graph.js";
import { RecordList } from "../parts/record_list.js";
import { Refusal } from "../parts/refusal.js";
import { ScriptEditor } from "../parts/script_editor.js";
import { State } from "../parts/state.js";
import { cured } from "../parts/cures.js";
import { ask, get, post, queryPath } from "../service.js";
import { parseExactly } from "../exact_json.js";
import { count, number } from "../words.js";
import { queryHref } from "./queries.js";

const PAUSE = 300; // milliseconds without a key before a script is checked
const DRAFT = "seine-draft";
const FIRST = "-- Ctrl-Space completes, Ctrl-Enter registers\n";

function marksOf(check) {
  if (check.error) return check.error.where ? [{ ...check.error.where, severity: "error", message: check.error.message }] : [];
  return check.queries.filter((one) => one.verdict === "refused")
    .map((one) => ({ line: one.line, column: one.column, severity: "error", message: `${one.reason}${one.hint ? `\n${one.hint}` : ""}` }));
}

/** "join, 2 x deliver": what a query would build. */
function kinds(names) {
  const counts = new Map();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].map(([name, many]) => (many > 1 ? `${many} x ${name}` : name)).join(", ");
}

function Sharing({ query, stages }) {
  if (query.builds === null) return null;
  const built = query.builds.length ? `adds ${count(query.builds.length, "node")} (${kinds(query.builds)})` : "adds no node";
  return html`<p>It ${built} and shares ${query.shares}.
    ${query.stages > stages ? ` The pipeline gets ${query.stages} stages, for which input waits some seconds.` : ""}</p>
    ${query.related.length > 0 && html`<ul>${query.related.map((one) => html`<li>${one.text}</li>`)}</ul>`}`;
}

function Verdict({ query, stages, text, onCure, onGo }) {
  return html`<article class="card verdict">
    <h3><${State} state=${query.verdict} /> <button class="link" onClick=${() => onGo(query.line, query.column)}>${query.query}</button></h3>
    <p>${query.reason}</p>
    ${query.hint && html`<p class="faint">${query.hint}</p>`}
    ${query.cures.length > 0 && html`<div class="actions" role="group" aria-label=${`cures of ${query.query}`}>
      ${query.cures.map((cure) => {
        const change = cured(text, query.query, cure);
        return change
          ? html`<button onClick=${() => onCure(change)}>Add ${cure.text}</button>`
          : html`<span class="faint">or declare ${cure.text}, where the stream is declared</span>`;
      })}
    </div>`}
    ${(query.graph.length > 0 || query.verdict === "refused") && html`<${PunctuationGraph} graph=${query.graph} purgeable=${query.purgeable} />`}
    <${Sharing} query=${query} stages=${stages} />
  </article>`;
}

function Outcome({ outcome }) {
  return html`<div class="outcome" role="status">
    ${outcome.registered.length ? html`<p>Registered ${outcome.registered.slice(0, 10).map((name, i) => html`${i ? ", " : ""}<a href=${queryHref(name)}>${name}</a>`)}${outcome.registered.length > 10 ? ` and ${outcome.registered.length - 10} more` : ""};
      from entry ${outcome.entry} on.</p>` : html`<p>Done; from entry ${outcome.entry} on.</p>`}
    ${outcome.dropped.length > 0 && html`<p>Dropped ${outcome.dropped.join(", ")}.</p>`}
  </div>`;
}

/** What the script's queries say of the rows that came last. */
function Trial({ trial, onClose }) {
  const queries = [...new Set(trial.records.map((record) => record.query))];
  const rows = Object.entries(trial.rows).map(([stream, many]) => `${count(Number(many), "row")} of ${stream}`);
  const recordsOf = (name) => trial.records.filter((one) => one.query === name).map((one, i) => ({ ...one, number: i }));
  return html`<section class="card trial" aria-label="trial">
    <div class="titleline"><h2>Tried, not registered</h2><button class="quiet" onClick=${onClose} aria-label="close the trial">×</button></div>
    <p role="status">On ${rows.join(", ") || "no rows"} of the last minutes: ${count(Number(trial.total), "record")}${trial.total > trial.records.length ? `, of which the first ${number(trial.records.length)} are here` : ""}.</p>
    ${Object.entries(trial.failed).map(([name, why]) => html`<p class="bad">Query ${name} would fail: ${why}</p>`)}
    ${queries.map((name) => html`<h3>${name}</h3><${RecordList} records=${recordsOf(name)} />`)}
  </section>`;
}

export function EditorPage({ name }) {
  const box = useRef(null), editor = useRef(null), asked = useRef(0), timer = useRef(null);
  const [text, setText] = useState("");
  const [check, setCheck] = useState(null);
  const [replacing, setReplacing] = useState(name !== null);
  const [outcome, setOutcome] = useState(null);
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(false);
  const [trial, setTrial] = useState(null);
  const now = useRef({});
  now.current = { replacing, busy };

  const look = async (script) => {
    const turn = ++asked.current;
    if (!script.trim()) return setCheck(null);
    try {
      const answer = await post("v1/check", { script, replace: now.current.replacing });
      if (turn !== asked.current) return;
      setCheck(answer);
      setError(null);
      editor.current?.mark(marksOf(answer));
    } catch (refused) {
      if (turn === asked.current) setError(refused);
    }
  };
  const changed = (script) => {
    setText(script);
    setOutcome(null);
    setTrial(null);
    if (name === null) sessionStorage.setItem(DRAFT, script);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => look(script), PAUSE);
  };
  const register = async () => {
    if (now.current.busy) return;
    setBusy(true);
    setError(null);
    try {
      const done = await post("v1/scripts", { script: editor.current.text, file: "script", replace: now.current.replacing });
      setOutcome(done);
      if (name === null) sessionStorage.removeItem(DRAFT);
      get("v1/schema").then((schema) => editor.current?.know(schema), () => {});
    } catch (refused) {
      setError(refused);
      if (refused.where) {
        editor.current.mark([{ ...refused.where, severity: "error", message: refused.message }]);
        editor.current.goTo(refused.where.line, refused.where.column);
      }
    }
    setBusy(false);
  };
  const tryOut = async () => {
    setBusy(true);
    setError(null);
    setTrial(null);
    try {
      const body = JSON.stringify({ script: editor.current.text, replace: now.current.replacing });
      setTrial(parseExactly(await (await ask("POST", "v1/try", { body })).text()));
    } catch (refused) {
      setError(refused);
    }
    setBusy(false);
  };
  useEffect(() => {
    let gone = false;
    const open = (script) => {
      if (gone) return;
      editor.current = new ScriptEditor(box.current, script, { onChange: changed, onRun: register });
      setText(script);
      get("v1/schema").then((schema) => !gone && editor.current.know(schema), () => {});
      if (script.trim() && script !== FIRST) look(script);
    };
    if (name === null) open(sessionStorage.getItem(DRAFT) ?? FIRST);
    else get(queryPath(name, "/story")).then((story) => open(story.statement), setError);
    return () => {
      gone = true;
      clearTimeout(timer.current);
      editor.current?.destroy();
    };
  }, [name]);
  useEffect(() => {
    if (editor.current) look(editor.current.text);
  }, [replacing]);
  const refused = check && (check.error || check.queries.some((one) => one.verdict === "refused"));
  return html`<section class="page">
    <div class="titleline"><h1>${name === null ? "Script" : `Change ${name}`}</h1>
      <span class="summary" role="status">${!check ? "" : refused ? "would be refused" : `would be registered: ${[count(check.queries.length, "query", "queries"), ...(check.declares.length ? [`declares ${check.declares.join(", ")}`] : []), ...(check.drops.length ? [`drops ${check.drops.join(", ")}`] : [])].join("; ")}`}</span>
      <label><input type="checkbox" checked=${replacing} onChange=${(event) => setReplacing(event.target.checked)} /> replace queries of the same name</label>
      <button disabled=${busy} onClick=${tryOut}>Try on recent rows</button>
      <button class="primary" disabled=${busy} onClick=${register}>Register</button>
    </div>
    <div class="columns editing">
      <div class="editor" ref=${box}></div>
      <div class="verdicts" aria-live="polite">
        <${Refusal} error=${error} />
        ${outcome && html`<${Outcome} outcome=${outcome} />`}
        ${trial && html`<${Trial} trial=${trial} onClose=${() => setTrial(null)} />`}
        ${check?.error && check.error.message !== error?.message && html`<div class="refusal"><strong>${check.error.message}</strong>
          ${check.error.where && html` <button class="link" onClick=${() => editor.current.goTo(check.error.where.line, check.error.where.column)}>line ${check.error.where.line}, column ${check.error.where.column}</button>`}
          ${check.error.hint && html`<p>${check.error.hint}</p>`}</div>`}
        ${!outcome && check?.queries.map((query) => html`<${Verdict} key=${query.query} query=${query} stages=${check.stages} text=${text}
          onCure=${(change) => editor.current.change(change.text, change.selection)} onGo=${(line, column) => editor.current.goTo(line, column)} />`)}
        ${!check && !error && html`<p class="faint">What a registration would say stands here as you type.</p>`}
      </div>
    </div>
  </section>`;
}
