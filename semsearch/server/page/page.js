// The page: what is asked stands in its address, answers come from the API, text never becomes markup.

const POLL_MS = 3000; // while something goes on
const RARE_POLL_MS = 20000;
const MOST_HITS = 1000; // further down the API does not go
const FIELDS = ["q", "year", "author", "venue", "category", "mode", "limit"];
const at = (id) => document.getElementById(id);
const form = at("search");
let indexes = [];
let asking = 0;

function make(tag, attributes = {}, ...children) {
  const element = Object.assign(document.createElement(tag), attributes);
  element.append(...children.filter((child) => child !== null));
  return element;
}

async function get(address) {
  let response;
  try {
    response = await fetch(address, { headers: { Accept: "application/json" } });
  } catch {
    throw new Error("The server does not answer.\nIs semsearch serve still running?");
  }
  const answer = await response.json().catch(() => null);
  if (response.ok && answer) return answer;
  const error = answer?.error ?? { message: `The server answered with status ${response.status}.` };
  throw new Error([error.message, error.way_out].filter(Boolean).join("\n"));
}

const asked = () => new URLSearchParams(location.search);

function apiAddress(parameters, offset) {
  const likes = parameters.getAll("like");
  const wanted = new URLSearchParams();
  for (const name of FIELDS) {
    const value = parameters.get(name)?.trim();
    if (value) wanted.set(name === "q" && likes.length ? "query" : name, value);
  }
  for (const like of likes) wanted.append("id", like);
  wanted.set("highlight", "true");
  wanted.set("offset", offset);
  const index = encodeURIComponent(parameters.get("index"));
  return `api/indexes/${index}/${likes.length ? "related" : "query"}?${wanted}`;
}

async function loadIndexes() {
  const found = await get("api/indexes");
  indexes = found.indexes;
  const chooser = at("index");
  const labels = indexes.map((index) => (index.papers === null ? `${index.name} (cannot be asked)`
    : `${index.name} (${index.papers.toLocaleString("en")})`));
  if (labels.join("\n") !== [...chooser.options].map((option) => option.text).join("\n")) {
    const chosen = chooser.value || asked().get("index");
    chooser.replaceChildren(...indexes.map((index, place) => make("option", { value: index.name }, labels[place])));
    if (indexes.some((index) => index.name === chosen)) chooser.value = chosen;
  }
  showCoverage();
}

function showCoverage() {
  const index = indexes.find((each) => each.name === at("index").value);
  const partly = index && index.coverage !== null && index.coverage < 1;
  at("coverage").hidden = !partly;
  if (!partly) return;
  at("covered").value = index.coverage;
  const share = Math.floor(100 * index.coverage);
  let goesOn = "semsearch build encodes the rest";
  if (index.building) goesOn = "a build is encoding the rest";
  else if (index.encoded_when_idle) goesOn = "the rest is encoded while nobody asks";
  at("coverage-text").textContent = `${share}% encoded: ${index.vectors.toLocaleString("en")} of ` +
    `${index.papers.toLocaleString("en")} papers; ${goesOn}`;
}

async function watchCoverage() {
  const mayChange = indexes.some((index) => index.coverage === null || index.coverage < 1 || index.building);
  await new Promise((done) => setTimeout(done, mayChange || !indexes.length ? POLL_MS : RARE_POLL_MS));
  const wereThere = indexes.length;
  if (!document.hidden) {
    await loadIndexes().catch(() => {}); // the server is gone or busy; the next look will tell
  }
  if (!wereThere && indexes.length) show();
  watchCoverage();
}

function fillForm() {
  const parameters = asked();
  for (const name of FIELDS) form.elements[name].value = parameters.get(name) ?? "";
  if (parameters.get("index")) at("index").value = parameters.get("index");
  at("filters").open = ["year", "author", "venue", "category", "mode"].some((name) => parameters.get(name));
  const likes = parameters.getAll("like");
  at("likes").hidden = !likes.length;
  at("likes").replaceChildren(...(likes.length ? [`Papers like ${likes.join(", ")}`,
    make("button", { type: "button", onclick: () => go((p) => p.delete("like")) }, "leave this away")] : []));
}

function go(change) {
  const parameters = asked();
  change(parameters);
  history.pushState(null, "", `?${parameters}`);
  show();
}

function say(text, isError = false) {
  at("status").textContent = text;
  at("status").classList.toggle("error", isError);
}

async function show(offset = 0) {
  const parameters = asked();
  const turn = ++asking;
  if (!offset) {
    fillForm();
    at("hits").replaceChildren();
    at("notes").replaceChildren();
  }
  at("more").hidden = true;
  if (!parameters.get("index") && at("index").value) parameters.set("index", at("index").value);
  if (!parameters.get("index") || (!parameters.get("q")?.trim() && !parameters.has("like"))) {
    say(indexes.length ? "" : "There is no index here yet. Make one with: semsearch build SOURCE...");
    return;
  }
  say("Asking ...");
  try {
    const answer = await get(apiAddress(parameters, offset));
    if (turn !== asking) return; // another question was asked meanwhile
    const first = offset + 1;
    const last = offset + answer.hits.length;
    const papers = answer.total.toLocaleString("en");
    say(last >= first ? `${first} to ${last} of ${papers} papers, in ${Math.round(answer.took_ms)} ms`
      : `No paper found among ${papers}`);
    at("notes").replaceChildren(...answer.notes.map((note) => make("li", {}, note)));
    at("hits").append(...answer.hits.map(hitElement));
    at("more").hidden = answer.hits.length < answer.limit || last >= MOST_HITS;
    at("more").onclick = () => show(last);
  } catch (error) {
    if (turn === asking) say(error.message, true);
  }
}

function hitElement(hit) {
  const where = [hit.venue, hit.date || hit.year].filter(Boolean).join(", ");
  const authors = hit.authors.length > 6 ? `${hit.authors.slice(0, 6).join("; ")} and ${hit.authors.length - 6} more`
    : hit.authors.join("; ");
  const address = [hit.url, hit.doi && `https://doi.org/${hit.doi}`].find((each) => /^https?:\/\//i.test(each ?? ""));
  const title = hit.title || hit.id;
  return make("li", { value: hit.rank },
    make("h2", {}, address ? make("a", { href: address, rel: "noopener noreferrer" }, title) : title),
    make("p", { className: "byline" }, [authors, where].filter(Boolean).join(". ")),
    hit.highlight && hit.highlight.field === "abstract" ? sentence(hit) : null,
    hit.abstract ? make("details", {}, make("summary", {}, "Abstract"),
      make("p", { className: "abstract" }, hit.abstract)) : null,
    make("p", { className: "tools" },
      make("button", { type: "button", onclick: () => go((p) => { p.delete("q"); p.delete("like"); p.set("like", hit.id); }) },
        "Related papers"),
      make("span", {}, `${hit.score_kind} ${hit.score.toFixed(3)}`),
      make("code", {}, hit.id),
      hit.signals.encoded_on_demand ? make("span", { className: "badge", title: "It had no vector until you asked." },
        "encoded for this question") : null,
      hit.signals.cosine_estimate !== undefined ? make("span", { className: "badge",
        title: "Its cosine is estimated from its words." }, "not encoded yet") : null));
}

function sentence(hit) {
  const letters = Array.from(hit.abstract); // offsets count Unicode characters
  const { start, end, words } = hit.highlight;
  const parts = [];
  let reached = start;
  for (const [from, to] of words.filter(([from, to]) => from >= start && to <= end)) {
    parts.push(letters.slice(reached, from).join(""), make("mark", {}, letters.slice(from, to).join("")));
    reached = to;
  }
  return make("p", { className: "sentence" }, ...parts, letters.slice(reached, end).join(""));
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  go((parameters) => {
    for (const name of [...FIELDS, "index"]) {
      const value = name === "index" ? at("index").value : form.elements[name].value.trim();
      if (value) parameters.set(name, value);
      else parameters.delete(name);
    }
  });
});
at("index").addEventListener("change", () => {
  go((parameters) => { parameters.set("index", at("index").value); parameters.delete("like"); });
  loadIndexes().catch(() => {});
});
addEventListener("popstate", () => show());

loadIndexes().then(() => show(), (error) => say(error.message, true)).then(watchCoverage);
