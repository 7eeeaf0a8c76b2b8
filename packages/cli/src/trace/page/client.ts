import type { PageDocument, PageElement } from "./dom.ts";
import type { PageChange, PageData, PageEntry, PageField, PageStep } from "./page-data.ts";

/**
 * The script of the page. Its text goes into the page (see trace-html.ts), so it refers to nothing outside itself. Whatever
 * comes from the trace is put in as text, never as HTML.
 */
export function tracePage(page: PageDocument, data: PageData): void {
  /** More lines than a person reads; a browser is slow with more. */
  const MAX_LINES = 400;
  const SIGNS: Readonly<Record<string, string>> = { added: "+", changed: "~", removed: "-", deleted: "x" };

  function byId(id: string): PageElement {
    const element = page.getElementById(id);
    if (element === null) throw new Error(`no #${id}`);
    return element;
  }

  function make(tag: string, className: string, ...children: (PageElement | string)[]): PageElement {
    const element = page.createElement(tag);
    if (className !== "") element.className = className;
    element.append(...children);
    return element;
  }

  function pairs(rows: readonly (readonly [string, PageElement | string])[]): PageElement {
    const list = make("dl", "");
    for (const [name, value] of rows) list.append(make("div", "", make("dt", "", name), make("dd", "", value)));
    return list;
  }

  function button(className: string, onClick: () => void, ...children: (PageElement | string)[]): PageElement {
    const element = make("button", className, ...children);
    element.setAttribute("type", "button");
    element.addEventListener("click", onClick);
    return element;
  }

  /** Lines, and a button for those that are too many. */
  function bounded<T>(list: PageElement, items: readonly T[], line: (item: T) => PageElement, noun: string): void {
    list.append(...items.slice(0, MAX_LINES).map(line));
    const more = items.slice(MAX_LINES);
    if (more.length === 0) return;
    const rest = make("li", "");
    rest.append(
      button(
        "more",
        () => {
          rest.hidden = true;
          list.append(...more.map(line));
        },
        `Show ${more.length} more ${noun}`,
      ),
    );
    list.append(rest);
  }

  function moveWithArrows(within: PageElement, selector: string, forward: string, back: string): void {
    within.addEventListener("keydown", (event) => {
      if (event.key !== forward && event.key !== back) return;
      const all = [...within.querySelectorAll(selector)];
      const now = all.findIndex((element) => element === page.activeElement);
      const next = all[now + (event.key === forward ? 1 : -1)];
      if (now === -1 || next === undefined) return;
      event.preventDefault();
      next.focus();
    });
  }

  // ---- The pipeline ----

  const cards: PageElement[] = data.steps.map((step, index) => stepCard(step, index));

  function stepCard(step: PageStep, index: number): PageElement {
    const bar = make("span", "bar");
    bar.setAttribute("aria-hidden", "true");
    for (const { phase, percent } of step.bar) {
      const segment = make("span", `segment ${phase}`);
      segment.style.width = `${percent}%`;
      bar.append(segment);
    }
    const status = make("span", `status ${step.status}`, step.statusText);
    const { added, changed, removed } = step.counts;
    const counts = make(
      "span",
      "counts",
      make("span", "added", `+${added}`),
      " ",
      make("span", "changed", `~${changed}`),
      " ",
      make("span", "removed", `-${removed}`),
    );
    const card = button(
      "step",
      () => openStep(index),
      make("span", "step-head", make("span", "number", String(index + 1)), make("span", "step-name", step.name)),
      make("span", "step-line", status, make("span", "time", step.time)),
      bar,
      make("span", "step-line", counts),
      make("span", "origin-mark", "set this field"),
    );
    const did =
      step.status === "NotRun" ? "" : `, ${step.time}, ${added} added, ${changed} changed, ${removed} removed`;
    card.setAttribute("aria-label", `Step ${index + 1}, ${step.name}: ${step.statusText}${did}`);
    return card;
  }

  function openStep(index: number): void {
    cards.forEach((card, other) => {
      if (other === index) card.setAttribute("aria-current", "step");
      else card.removeAttribute("aria-current");
    });
    const step = data.steps[index];
    if (step !== undefined) byId("step").replaceChildren(...stepDetail(step, index));
  }

  function stepDetail(step: PageStep, index: number): PageElement[] {
    const parts = [make("h2", "", `Step ${index + 1}: ${step.name}`)];
    const what = step.kind === "templates" ? "Patch and transform: the Composition's templates" : step.image;
    parts.push(make("p", "image", what));
    if (step.status === "NotRun") return [...parts, make("p", "", "It did not run: the run ended before.")];
    parts.push(pairs(step.measures));
    if (step.error !== "") parts.push(make("p", "result Fatal", make("strong", "", "failed "), step.error));
    if (step.results.length > 0) {
      const list = make("ul", "results");
      bounded(
        list,
        step.results,
        ({ severity, message }) => make("li", `result ${severity}`, make("strong", "", `${severity} `), message),
        "results",
      );
      parts.push(make("h3", "", "Results"), list);
    }
    parts.push(make("h3", "", "Changes"));
    if (step.entries.length === 0) parts.push(make("p", "", "It changes nothing of the desired state."));
    for (const { title, change, fields } of step.entries) {
      const summary = make(
        "summary",
        "",
        make("span", `sign ${change}`, SIGNS[change] ?? ""),
        ` ${title} `,
        make("span", "note", change),
      );
      const list = make("ul", "diff");
      bounded(list, fields, changeLine, "fields");
      const entry = make("details", "entry", summary, list);
      entry.open = fields.length <= MAX_LINES && change !== "removed" && change !== "deleted";
      parts.push(entry);
    }
    return parts;
  }

  function changeLine({ op, field, before, after, origin }: PageChange): PageElement {
    const body = make("span", "body", make("span", "path", field), ": ");
    if (before !== "") body.append(make("del", "value", before));
    if (before !== "" && after !== "") body.append(" → ");
    if (after !== "") body.append(make("ins", "value", after));
    if (origin !== "") body.append(" ", make("span", "origin", `← ${origin}`));
    return make("li", op, make("span", "sign", SIGNS[op] ?? ""), body);
  }

  // ---- Who set this field? ----

  let chosen: PageElement | undefined;

  function ask(entry: PageEntry, field: PageField, row: PageElement): void {
    chosen?.removeAttribute("aria-pressed");
    row.setAttribute("aria-pressed", "true");
    chosen = row;
    const step = data.steps[field.stepIndex];
    cards.forEach((card, index) => {
      card.className = index === field.stepIndex ? "step origin-of-field" : "step";
    });
    const who = make(
      "p",
      "who",
      "Set by ",
      make("strong", "", `step ${field.stepIndex + 1}, ${step?.name ?? ""}`),
      " ",
      button(
        "open-step",
        () => {
          openStep(field.stepIndex);
          byId("step").scrollIntoView({ block: "nearest" });
        },
        "Open step",
      ),
    );
    const answer = [
      make("h3", "", make("span", "path", field.field), ` of ${entry.title}`),
      make("p", "value", field.value),
      who,
    ];
    if (field.origin.length > 0) answer.push(pairs(field.origin));
    if (field.history.length > 0) {
      const steps = field.history.map(({ stepIndex, text }) =>
        make("li", "", `${data.steps[stepIndex]?.name ?? ""} ${text}`),
      );
      answer.push(make("h4", "", "At this path"), make("ol", "history", ...steps));
    }
    byId("answer").replaceChildren(...answer);
  }

  /** An entry's fields as a tree: a line for each field, and one for each object or list that begins. */
  function treeLines(entry: PageEntry, fields: readonly PageField[]): PageElement[] {
    const lines: PageElement[] = [];
    let above: readonly string[] = [];
    for (const field of fields) {
      let common = 0;
      while (common < field.keys.length - 1 && field.keys[common] === above[common]) common++;
      for (; common < field.keys.length - 1; common++)
        lines.push(indented(common, make("span", "key", `${field.keys[common] ?? ""}:`)));
      above = field.keys;
      const step = data.steps[field.stepIndex];
      const row = button(
        "field",
        () => ask(entry, field, row),
        make(
          "span",
          "body",
          make("span", "key", `${field.keys.at(-1) ?? field.field}: `),
          make("span", "value", field.value),
        ),
        make("span", "by", step?.name ?? ""),
      );
      row.setAttribute("aria-label", `${field.field}: ${field.value}, set by ${step?.name ?? ""}`);
      lines.push(indented(Math.max(0, field.keys.length - 1), row));
    }
    return lines;
  }

  function indented(depth: number, content: PageElement): PageElement {
    return make("li", `depth-${Math.min(depth, 12)}`, content);
  }

  function showFields(query: string): void {
    const words = query
      .toLowerCase()
      .split(/\s+/)
      .filter((word) => word !== "");
    const tree = byId("fields");
    let found = 0;
    const entries = data.entries.flatMap((entry) => {
      const isMatch = (text: string): boolean => words.every((word) => text.toLowerCase().includes(word));
      const fields = entry.fields.filter((field) => isMatch(`${entry.title} ${field.field} ${field.value}`));
      if (fields.length === 0 && !(entry.fields.length === 0 && isMatch(entry.title))) return [];
      const isOpen = words.length > 0 ? found < MAX_LINES : data.entries.length <= 10 && found < MAX_LINES;
      found += fields.length;
      return [entryTree(entry, fields, isOpen)];
    });
    tree.replaceChildren(...entries);
    const noun = found === 1 ? "field" : "fields";
    byId("found").textContent = entries.length === 0 ? "No such field is desired." : `${found} ${noun}`;
  }

  function entryTree(entry: PageEntry, fields: readonly PageField[], isOpen: boolean): PageElement {
    const note = entry.note === "" ? "" : `${entry.note}, says ${data.steps[entry.stepIndex]?.name ?? ""}`;
    const details = make("details", "entry", make("summary", "", `${entry.title} `, make("span", "note", note)));
    const list = make("ul", "tree");
    details.append(list);
    // Lines are made when they are looked at: there may be tens of thousands.
    let isMade = false;
    const fill = (): void => {
      if (isMade || !details.open) return;
      isMade = true;
      bounded(list, treeLines(entry, fields), (line) => line, "lines");
    };
    details.addEventListener("toggle", fill);
    details.open = isOpen;
    fill();
    return details;
  }

  // ---- The page ----

  byId("title").textContent = data.title;
  byId("facts").append(
    ...data.facts.map((fact, index) => make("li", index === data.facts.length - 1 ? data.status : "", fact)),
  );
  byId("steps").append(...cards.map((card) => make("li", "", card)));
  moveWithArrows(byId("steps"), "button", "ArrowRight", "ArrowLeft");
  moveWithArrows(byId("fields"), "summary, button.field", "ArrowDown", "ArrowUp");
  const search = byId("search");
  search.addEventListener("input", () => showFields(search.value));
  search.addEventListener("keydown", (event) => {
    const [first] = event.key === "Enter" ? byId("fields").querySelectorAll("button.field") : [];
    first?.click();
  });
  showFields("");
  const ended = data.steps.findIndex(({ status }) => status === "Fatal" || status === "Failed");
  openStep(Math.max(0, ended));
}
