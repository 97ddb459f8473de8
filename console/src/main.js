// The console: a head with the pages, the page in sight, and the sign-in where the service wants a token.
import { html, render, useEffect, useState } from "./dom.js";
import { get, token, whenSignedOut } from "./service.js";
import { BatchesPage } from "./pages/batches.js";
import { EditorPage } from "./pages/editor.js";
import { LettersPage } from "./pages/letters.js";
import { NetworkPage } from "./pages/network.js";
import { QueriesPage } from "./pages/queries.js";
import { QueryPage } from "./pages/query.js";
import { StreamsPage } from "./pages/streams.js";

const PAGES = [
  ["queries", "Queries", QueriesPage],
  ["editor", "Editor", EditorPage],
  ["network", "Network", NetworkPage],
  ["streams", "Streams", StreamsPage],
  ["batches", "Batches", BatchesPage],
  ["letters", "Dead letters", LettersPage],
];

/** The page that the address names: `#/queries/q1` is page "queries" with "q1". */
function place() {
  const [page, ...rest] = location.hash.replace(/^#\/?/, "").split("?")[0].split("/");
  return { page: page || "queries", name: rest.length ? decodeURIComponent(rest.join("/")) : null };
}

function usePlace() {
  const [now, setNow] = useState(place());
  useEffect(() => {
    const moved = () => setNow(place());
    addEventListener("hashchange", moved);
    return () => removeEventListener("hashchange", moved);
  }, []);
  return now;
}

function Theme() {
  const [theme, setTheme] = useState(localStorage.getItem("seine-theme") || "auto");
  useEffect(() => {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    localStorage.setItem("seine-theme", theme);
  }, [theme]);
  return html`<label class="theme">
    <span class="sr">Colours</span>
    <select value=${theme} onChange=${(event) => setTheme(event.target.value)}>
      <option value="auto">as the system</option>
      <option value="light">light</option>
      <option value="dark">dark</option>
    </select>
  </label>`;
}

function SignIn({ refusal, onDone }) {
  const [text, setText] = useState("");
  const [error, setError] = useState(token.get() ? refusal?.message : null);
  const [busy, setBusy] = useState(false);
  const submit = async (event) => {
    event.preventDefault();
    setBusy(true);
    token.set(text.trim());
    try {
      await get("v1/status");
      onDone();
    } catch (refused) {
      if (refused.status === 401) token.forget();
      setError(refused.message);
    }
    setBusy(false);
  };
  return html`<main class="signin">
    <form class="card" onSubmit=${submit}>
      <h1>Seine</h1>
      <p>This service wants a token. It is kept in this tab until you close it.</p>
      <label>Token
        <input type="password" autocomplete="off" autofocus required value=${text}
          onInput=${(event) => setText(event.target.value)} />
      </label>
      ${error && html`<p class="bad" role="alert">${error}</p>`}
      <button class="primary" disabled=${busy}>Sign in</button>
    </form>
  </main>`;
}

function Console() {
  const { page, name } = usePlace();
  const [entered, setEntered] = useState(null); // null: not known yet
  const [refusal, setRefusal] = useState(null);
  useEffect(() => {
    whenSignedOut((refused) => {
      setRefusal(refused);
      setEntered(false);
    });
    get("v1/status").then(() => setEntered(true), (error) => {
      setRefusal(error);
      setEntered(error.status !== 401);
    });
  }, []);
  useEffect(() => {
    document.title = name ? `${name} - Seine` : `${PAGES.find(([key]) => key === page)?.[1] ?? "Seine"} - Seine`;
  }, [page, name]);
  if (entered === null) return html`<p class="center" role="status">Asking the service ...</p>`;
  if (!entered) return html`<${SignIn} refusal=${refusal} onDone=${() => setEntered(true)} />`;
  const [, , Page] = PAGES.find(([key]) => key === page) ?? PAGES[0];
  return html`<a class="skip" href="#content" onClick=${(event) => {
      event.preventDefault();
      document.getElementById("content").focus();
    }}>Skip to the content</a>
    <header>
      <a class="brand" href="#/queries"><img src="console/icon.svg" alt="" width="22" height="22" />Seine</a>
      <nav aria-label="Pages">
        ${PAGES.map(([key, title]) => html`<a href="#/${key}" aria-current=${key === page ? "page" : undefined}>${title}</a>`)}
      </nav>
      <${Theme} />
      ${token.get() && html`<button class="quiet" onClick=${() => { token.forget(); location.reload(); }}>Sign out</button>`}
    </header>
    <main id="content" tabindex="-1">
      ${page === "queries" && name !== null ? html`<${QueryPage} key=${name} name=${name} />` : html`<${Page} key=${`${page}/${name}`} name=${name} />`}
    </main>`;
}

render(html`<${Console} />`, document.getElementById("app"));
