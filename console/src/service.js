// Requests to the service that this page came from.
import { parseExactly } from "./exact_json.js";

const KEY = "seine-token";

/** A refusal: what the service said, with the place and the hint if it named them. */
export class Refused extends Error {
  constructor(status, reason) {
    super(reason.message);
    this.status = status;
    this.hint = reason.hint;
    this.where = reason.where;
  }
}

// The token lives as long as this tab. It is no cookie: no other page can make the browser send it.
export const token = {
  get: () => sessionStorage.getItem(KEY),
  set: (text) => sessionStorage.setItem(KEY, text),
  forget: () => sessionStorage.removeItem(KEY),
};

async function reasonOf(answer) {
  try {
    return (await answer.json()).error;
  } catch {
    return { message: `the service answered ${answer.status}` };
  }
}

let onSignedOut = () => {};
export function whenSignedOut(call) {
  onSignedOut = call;
}

export async function ask(method, path, { body, type = "application/json", headers = {}, signal } = {}) {
  const sent = { ...headers };
  if (token.get()) sent.Authorization = `Bearer ${token.get()}`;
  if (body !== undefined) sent["Content-Type"] = type;
  let answer;
  try {
    answer = await fetch(path, { method, body, headers: sent, signal, cache: "no-store", credentials: "omit" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, { message: "the service does not answer", hint: "it may have been stopped" });
  }
  if (answer.ok) return answer;
  const refused = new Refused(answer.status, await reasonOf(answer));
  if (answer.status === 401) onSignedOut(refused);
  throw refused;
}

export const get = async (path, signal) => (await ask("GET", path, { signal })).json();
export const post = async (path, value, signal) =>
  (await ask("POST", path, { body: value === undefined ? undefined : JSON.stringify(value), signal })).json();
export const remove = async (path) => (await ask("DELETE", path)).json();

export const queryPath = (name, rest = "") => `v1/queries/${encodeURIComponent(name)}${rest}`;

/** The records of a query from a place on: what there is, and where to go on. */
export async function records(name, from, wait, signal) {
  const answer = await ask("GET", queryPath(name, `/results?from=${from}&wait=${wait}`), { signal });
  const text = await answer.text();
  const lines = text.split("\n").filter(Boolean);
  return { records: lines.map(parseExactly), next: answer.headers.get("Seine-Next") };
}

/** Lines of JSON as new arrivals of a stream. */
export const push = (stream, lines) =>
  ask("POST", `v1/streams/${encodeURIComponent(stream)}/records`, { body: lines, type: "application/x-ndjson" });
