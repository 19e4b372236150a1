// The page: what is asked stands in its address, answers come from the API, text never becomes markup.

const POLL_MS = 3000; // while something goes on
const RARE_POLL_MS = 20000;
const MOST_HITS = 1000; // further down the API does not go
const FIELDS = ["q", "year", "author", "venue", "category", "mode", "limit"];
const at = (id) => document.getElementById(id);
const form = at("search");
let indexes = [];
let asking = new AbortController(); // of the question that the page waits for

function make(tag, attributes = {}, ...children) {
  const element = Object.assign(document.createElement(tag), attributes);
  element.append(...children.filter((child) => child !== null));
  return element;
}

async function get(address, signal = null) {
  let response;
  try {
    response = await fetch(address, { headers: { Accept: "application/json" }, signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
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
  const chosen = chooser.value || asked().get("index") || indexes.find((index) => index.papers !== null)?.name;
  const choices = indexes.map((index) => [index.name, index.papers === null ? `${index.name} (cannot be asked)`
    : `${index.name} (${index.papers.toLocaleString("en")})`]);
  if (chosen && !indexes.some((index) => index.name === chosen)) choices.push([chosen, `${chosen} (not there)`]);
  const labels = choices.map(([, label]) => label).join("\n");
  if (labels !== [...chooser.options].map((option) => option.text).join("\n")) {
    chooser.replaceChildren(...choices.map(([value, text]) => make("option", { value }, text)));
    chooser.value = chosen ?? "";
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
  const usual = indexes.find((index) => index.papers !== null)?.name;
  at("index").value = parameters.get("index") ?? usual ?? "";
  showCoverage();
  at("filters").open = FIELDS.slice(1).some((name) => parameters.get(name));
  const likes = parameters.getAll("like");
  at("likes").hidden = !likes.length;
  at("likes").replaceChildren(...(likes.length ? ["Papers like ", make("b", { id: "liked" }, likes.join(", ")),
    make("button", { type: "button", onclick: () => go((p) => p.delete("like")) }, "leave this away")] : []));
  document.title = [parameters.get("q"), ...likes, "semsearch"].filter(Boolean).join(" - ");
}

async function nameLikes(parameters, signal) {
  const index = encodeURIComponent(parameters.get("index"));
  const papers = await Promise.all(parameters.getAll("like").map((like) =>
    get(`api/indexes/${index}/papers/${encodeURIComponent(like)}`, signal)));
  const titles = papers.map((paper) => paper.title || paper.id);
  if (titles.length) at("liked").textContent = titles.join("; ");
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
  asking.abort();
  const { signal } = asking = new AbortController();
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
    const answer = await get(apiAddress(parameters, offset), signal);
    const last = offset + answer.hits.length;
    const papers = answer.total.toLocaleString("en");
    if (last) say(`${last} of ${papers} papers, in ${Math.round(answer.took_ms)} ms`);
    else say(`No paper found among ${papers}`);
    if (!offset) at("notes").replaceChildren(...answer.notes.map((note) => make("li", {}, note)));
    const there = new Set([...at("hits").children].map((hit) => hit.dataset.id));
    const hits = answer.hits.filter((hit) => !there.has(hit.id)).map(hitElement); // places change while encoding goes on
    at("hits").append(...hits);
    at("more").hidden = answer.hits.length < answer.limit || last >= Math.min(answer.total, MOST_HITS);
    at("more").onclick = () => show(last);
    const lostFocus = document.activeElement === document.body || document.activeElement === at("more");
    if (lostFocus && hits.length) hits[0].querySelector("h2").focus({ preventScroll: !offset });
    if (!offset) await nameLikes(parameters, signal);
  } catch (error) {
    if (!signal.aborted) say(error.message, true); // else another question was asked meanwhile
  }
}

function hitElement(hit) {
  const where = [hit.venue, hit.date || hit.year].filter(Boolean).join(", ");
  const authors = hit.authors.length > 6 ? `${hit.authors.slice(0, 6).join("; ")} and ${hit.authors.length - 6} more`
    : hit.authors.join("; ");
  const address = [hit.url, hit.doi && `https://doi.org/${hit.doi}`].find((each) => /^https?:\/\//i.test(each ?? ""));
  const title = hit.title || hit.id;
  const item = make("li", { value: hit.rank },
    make("h2", { tabIndex: -1 }, address ? make("a", { href: address, rel: "noopener noreferrer" }, title) : title),
    make("p", { className: "byline" }, [authors, where].filter(Boolean).join(" \u00b7 ")),
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
  item.dataset.id = hit.id;
  return item;
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
