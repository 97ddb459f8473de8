// The editor of scripts: CodeMirror with the words of Seine's language, and completion of what is declared.
//
// It lives in a shadow root: there CodeMirror's styles are adopted style sheets, which a strict
// Content-Security-Policy allows where it forbids style elements.
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { HighlightStyle, bracketMatching, syntaxHighlighting } from "@codemirror/language";
import { SQLDialect, sql } from "@codemirror/lang-sql";
import { lintGutter, setDiagnostics } from "@codemirror/lint";
import { Compartment, EditorState } from "@codemirror/state";
import { EditorView, drawSelection, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const KEYWORDS =
  "add all and any as asc between both by case cast create cross current_date date desc distinct drop else end except exists " +
  "false first following format from full group having importance in inner insert intersect interval into is join last lateness " +
  "leading left lifespan like limit max natural not null nulls on or order outer over partition per preceding punctuated query " +
  "range relation retractable reused right row rows search select semi anti session_window set sink some stream table then time timeout timestamp " +
  "to top trailing true tuples unbounded union unique using valid values view when where window with xscl publish followed " +
  "options day hour minute second month year";
const TYPES = "boolean int integer bigint double decimal string varchar text date timestamp xml";

const dialect = SQLDialect.define({
  keywords: KEYWORDS,
  types: TYPES,
  doubleDollarQuotedStrings: true,
  identifierQuotes: '"`',
  operatorChars: "*+-%<>!=|&~^/",
});

const colours = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--accent)", fontWeight: "600" },
  { tag: tags.typeName, color: "var(--idle)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--good)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--bad)" },
  { tag: tags.comment, color: "var(--soft)", fontStyle: "italic" },
]);

const look = EditorView.theme({
  "&": { color: "var(--ink)", backgroundColor: "var(--card)", fontSize: "13.5px", height: "100%" },
  ".cm-content": { fontFamily: 'ui-monospace, "SF Mono", Consolas, "DejaVu Sans Mono", monospace', caretColor: "var(--ink)", padding: "10px 0" },
  ".cm-gutters": { backgroundColor: "var(--code)", color: "var(--soft)", border: "none" },
  ".cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--hover) 60%, transparent)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "-1px" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "color-mix(in srgb, var(--accent) 28%, transparent)" },
  ".cm-tooltip": { backgroundColor: "var(--card)", color: "var(--ink)", border: "1px solid var(--line)", borderRadius: "6px" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--accent-ink)" },
  ".cm-diagnostic": { whiteSpace: "pre-wrap" },
});

const quoted = (name) => (/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`);

/** Names of tables with their columns, and functions, to be completed. */
function language(schema) {
  const tables = {};
  for (const table of schema?.tables ?? [])
    tables[table.name] = {
      self: { label: table.name, apply: quoted(table.name), type: "type", detail: table.kind },
      children: table.columns.map((one) => ({ label: one.name, apply: quoted(one.name), type: "property", detail: one.type })),
    };
  const functions = (schema?.functions ?? []).map((name) => ({ label: name, type: "function" }));
  const everywhere = (schema?.tables ?? []).flatMap((table) =>
    table.columns.map((one) => ({ label: one.name, apply: quoted(one.name), type: "property", detail: `${table.name}, ${one.type}` })));
  const support = sql({ dialect, schema: tables, upperCaseKeywords: true });
  const more = dialect.language.data.of({
    autocomplete: (context) => {
      const word = context.matchBefore(/[A-Za-z_][A-Za-z0-9_]*/);
      if (!word || context.state.sliceDoc(Math.max(word.from - 1, 0), word.from) === ".") return null;
      return { from: word.from, options: [...everywhere, ...functions], validFor: /^\w*$/ };
    },
  });
  return [support, more];
}

/** The place of line and column, both from 1, and the end of the word there. */
function range(document, line, column) {
  const at = document.line(Math.min(Math.max(line, 1), document.lines));
  const from = Math.min(at.from + Math.max(column - 1, 0), at.to);
  const word = /^[\w"`.]+/.exec(at.text.slice(from - at.from));
  return { from, to: Math.min(from + (word ? word[0].length : 1), document.length) };
}

/** An editor in a box: `onChange` hears of each new text, `onRun` of Ctrl-Enter. */
export class ScriptEditor {
  constructor(box, text, { onChange, onRun }) {
    const root = box.shadowRoot ?? box.attachShadow({ mode: "open" });
    const mount = document.createElement("div");
    mount.style.height = "100%";
    root.replaceChildren(mount);
    this.language = new Compartment();
    this.view = new EditorView({
      root,
      parent: mount,
      state: EditorState.create({
        doc: text,
        extensions: [
          lineNumbers(), lintGutter(), history(), drawSelection(), bracketMatching(), closeBrackets(),
          highlightActiveLine(), autocompletion(), this.language.of(language(null)),
          syntaxHighlighting(colours), look, EditorView.lineWrapping,
          EditorView.contentAttributes.of({ "aria-label": "script", spellcheck: "false" }),
          keymap.of([{ key: "Mod-Enter", run: () => (onRun(), true) }, ...closeBracketsKeymap, ...completionKeymap, ...historyKeymap, ...defaultKeymap, indentWithTab]),
          EditorView.updateListener.of((update) => update.docChanged && onChange(update.state.doc.toString())),
        ],
      }),
    });
  }

  know(schema) {
    this.view.dispatch({ effects: this.language.reconfigure(language(schema)) });
  }

  get text() {
    return this.view.state.doc.toString();
  }

  /** Replace the text by another one, as if it had been typed. */
  change(text, cursor) {
    const anchor = cursor ?? Math.min(this.view.state.selection.main.head, text.length);
    this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text }, selection: typeof anchor === "number" ? { anchor } : anchor });
    this.view.focus();
  }

  /** Mark places: `{line, column, severity, message}` each. */
  mark(places) {
    const document = this.view.state.doc;
    const diagnostics = places.map(({ line, column, severity, message }) => ({ ...range(document, line, column), severity, message }));
    this.view.dispatch(setDiagnostics(this.view.state, diagnostics));
  }

  goTo(line, column) {
    const { from } = range(this.view.state.doc, line, column);
    this.view.dispatch({ selection: { anchor: from }, scrollIntoView: true });
    this.view.focus();
  }

  destroy() {
    this.view.destroy();
  }
}
